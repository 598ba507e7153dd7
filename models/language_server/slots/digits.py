"""A number that is told digit by digit, such as a customer number."""

import re
from collections.abc import Iterator

from language_server.slots.plain_text import MAX_CHARS, plain

_WORDS = {
    "zero": "0", "oh": "0", "o": "0", "one": "1", "two": "2", "three": "3", "four": "4",
    "five": "5", "six": "6", "seven": "7", "eight": "8", "nine": "9",
}  # fmt: skip
_HEARD_AS = {"for": "4", "fore": "4", "to": "2", "too": "2", "won": "1", "once": "1", "ate": "8"}
"""Everyday words that sound like digits."""
_TIMES = {"double": 2, "triple": 3}
_DIGITS = re.compile(r"[0-9]+")


def find_digits(text: str, length: int) -> str | None:
    """The first run of spoken or written digits of this length, or None.

    "Four one seven, two eight six" and "352-986" are both "352986". A run that is longer or
    shorter is not cut to fit.
    """
    words = re.sub(r"[-/:.]", " ", plain(text[-MAX_CHARS:])).split()
    for run in _runs(words):
        while run:
            told = "".join(_value(word) for word in run)
            if len(told) == length:
                return told
            if run[0] not in _HEARD_AS:
                break
            run = run[1:]  # "it is for" before the number
    return None


def _runs(words: list[str]) -> Iterator[list[str]]:
    """Stretches of words that may be digits; "double four" is "four four"."""
    run: list[str] = []
    times = 1
    for word in words:
        if word in _TIMES:
            times = _TIMES[word]
            continue
        if not _value(word):
            yield run
            run = []
        else:
            run = [*run, *[word] * times]
        times = 1
    yield run


def _value(word: str) -> str:
    return word if _DIGITS.fullmatch(word) else _WORDS.get(word) or _HEARD_AS.get(word, "")
