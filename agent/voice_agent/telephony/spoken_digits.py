"""Finds digits in English as it is transcribed: "4111 1111", "four one one one", "double five"."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

_UNITS: Final = {
    "zero": "0", "oh": "0", "o": "0", "nought": "0", "nil": "0", "one": "1", "won": "1",
    "two": "2", "to": "2", "too": "2", "three": "3", "four": "4", "for": "4", "five": "5",
    "six": "6", "seven": "7", "eight": "8", "ate": "8", "nine": "9", "niner": "9",
}  # fmt: skip
"""Words of one digit, with the words that a recogniser hears for them."""
_HOMOPHONES: Final = frozenset({"o", "won", "to", "too", "for", "ate"})
"""Words that are digits only between digits."""
_TEENS: Final = {
    "ten": "10", "eleven": "11", "twelve": "12", "thirteen": "13", "fourteen": "14",
    "fifteen": "15", "sixteen": "16", "seventeen": "17", "eighteen": "18", "nineteen": "19",
}  # fmt: skip
_TENS: Final = {
    "twenty": "2", "thirty": "3", "forty": "4", "fourty": "4", "fifty": "5", "sixty": "6",
    "seventy": "7", "eighty": "8", "ninety": "9",
}  # fmt: skip
_ZEROS: Final = {"hundred": "00", "thousand": "000"}
_REPEATS: Final = {"double": 2, "triple": 3, "treble": 3, "quadruple": 4}
_FILLERS: Final = frozenset({
    "a", "ah", "and", "comma", "dash", "digits", "dot", "er", "erm", "hyphen", "is", "it", "like",
    "mm", "next", "now", "number", "okay", "ok", "point", "right", "so", "space", "stop", "that",
    "the", "then", "uh", "um", "well", "yeah", "yes", "you", "know",
})  # fmt: skip
"""Words that people say within a number."""

MAX_FILLERS: Final = 4
"""Fillers in a row within one number; after more of them the next digits are another number."""

_TOKEN: Final = re.compile(r"[0-9]+|[^\W\d_]+(?:['\u2019][^\W\d_]+)?|[^\w\s]|_")
_MARKS: Final = frozenset(",.-\u2010\u2011\u2012\u2013\u2014/…")
"""What separates the groups of a number."""


class Digits(NamedTuple):
    """Digits that one stretch of text says."""

    value: str
    """ASCII digits."""
    start: int
    end: int
    """The characters that say them; several digits may share them ("eleven")."""


def digit_runs(text: str) -> Iterator[list[Digits]]:
    """The runs of digits in a text: what may be said as one number, fillers and marks left out."""
    run: list[Digits] = []
    fillers = 0
    repeat, repeat_start = 1, 0
    for match in _TOKEN.finditer(text):
        word = match[0].lower()
        digits = _value(word, run, text, match.start())
        if digits is not None:
            start = repeat_start if repeat > 1 else match.start()
            run.append(Digits(digits * repeat, start, match.end()))
            repeat, fillers = 1, 0
        elif word in _REPEATS:
            repeat, repeat_start = _REPEATS[word], match.start()
        elif word not in _MARKS:
            repeat = 1
            fillers = fillers + 1 if word in _FILLERS else MAX_FILLERS + 1
            if fillers > MAX_FILLERS and run:
                yield run
                run = []
    if run:
        yield run


def _value(word: str, run: list[Digits], text: str, start: int) -> str | None:
    """The digits that a word adds to a run; None where it is no number."""
    if word.isascii() and word.isdigit():
        return word
    if word in _HOMOPHONES and not run:
        return None
    if word in _UNITS:
        if run and _ends_in_tens(text, run[-1]) and not text[run[-1].end : start].strip(" -"):
            # "forty one" is 41, and not 401
            tens = run.pop()
            run.append(tens._replace(value=tens.value[:-1]))
        return _UNITS[word]
    if word in _TEENS:
        return _TEENS[word]
    if word in _TENS:
        return _TENS[word] + "0"
    return _ZEROS.get(word) if run else None


def _ends_in_tens(text: str, said: Digits) -> bool:
    words = text[said.start : said.end].lower().split()
    return bool(words) and words[-1] in _TENS
