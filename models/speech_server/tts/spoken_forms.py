"""English written forms that every engine is told in words: times, ISO dates, addresses, signs.

A rule replaces what its pattern matches and keeps every blank of it, because blanks divide the
written words; the words that it says in the place of one are divided by `INNER_BLANK`.
"""

import re
from collections.abc import Callable, Iterable
from typing import Final

from speech_server.tts.spoken_numbers import cardinal

INNER_BLANK: Final = "\0"
"""Divides the words that are said for one written word; occurs in no text."""

Rule = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]
"""What is written, and what is said instead."""

MONTHS: Final = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip

_CLOCK = r"(?<![\d:.,])(?:[01]?\d|2[0-3]):[0-5]\d(?![\d:]|[.,]\d)"
_MERIDIEM = r"([ap])\.?m\b\.?"
_TOP_DOMAIN = r"(?:ai|app|co\.uk|com|de|dev|edu|eu|fr|gov|io|net|org)"
_URL = r"(?:https?://|www\.)[^\s<>\"']+"
_BARE_URL = rf"(?<![\w@.])(?:[a-z0-9-]+\.)+{_TOP_DOMAIN}\b(?:/[^\s<>\"']*)?"
_ADDRESS_SIGNS = {".": " dot ", "/": " slash ", "@": " at ", "-": " dash ", "_": " underscore "}


def rewrite(text: str, rules: Iterable[Rule]) -> str:
    """Apply rules one after the other.

    Args:
        text: words divided by single blanks.
        rules: in the order in which they are to be applied.

    Returns:
        As many words divided by single blanks.
    """
    for pattern, say in rules:
        text = pattern.sub(say, text)
    return text


def one_word(words: str) -> str:
    """Words that are said in the place of one that is written."""
    return INNER_BLANK.join(words.split())


def one_each(words: str, written: str) -> str:
    """Words that are said in the place of several: one for each, and for the first the rest."""
    parts = words.split()
    first = max(1, len(parts) - written.count(" "))
    return " ".join([INNER_BLANK.join(parts[:first]), *parts[first:]])


def instead(pattern: str, words: str, *, ignore_case: bool = False) -> Rule:
    """The rule that says the same words whatever has been matched."""
    said = words.replace(" ", INNER_BLANK)
    return re.compile(pattern, re.IGNORECASE if ignore_case else 0), lambda _: said


def date_words(month: int, day: int, year: str = "") -> str:
    """A date as Americans say it, its numbers in digits: "November 21st 2026"."""
    suffix = "th" if 11 <= day <= 13 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
    return one_word(f"{MONTHS[month - 1]} {day}{suffix} {year}")


def _say_range(found: re.Match[str]) -> str:
    before, after = found[2] or INNER_BLANK, found[3] or INNER_BLANK
    return f"{found[1]}{before}to{after}"


def _say_time(found: re.Match[str]) -> str:
    hour, minute = (int(part) for part in found[1].split(":"))
    meridiem = f" {found[2]}.m." if found[2] else ""
    if minute:
        said = f"{cardinal(hour)} {'oh ' if minute < 10 else ''}{cardinal(minute)}"
    elif meridiem:
        said = cardinal(hour)
    elif 1 <= hour <= 12:
        said = f"{cardinal(hour)} o'clock"
    else:
        said = f"{cardinal(hour)} hundred"
    return one_word(said + meridiem)


def _say_address(found: re.Match[str]) -> str:
    body = found[0].rstrip(".,;:!?)")
    closing = found[0][len(body) :]
    body = re.sub(r"^(?:https?://)?(?:www\.)?", "", body, flags=re.IGNORECASE).rstrip("/")
    said = "".join(_ADDRESS_SIGNS.get(char, char if char.isalnum() else " ") for char in body)
    return one_word(said) + closing


FORMS: Final[tuple[Rule, ...]] = (
    (re.compile(rf"\b{_URL}", re.IGNORECASE), _say_address),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), _say_address),
    (re.compile(_BARE_URL), _say_address),
    (
        re.compile(r"\b(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])\b"),
        lambda found: date_words(int(found[2]), int(found[3]), found[1]),
    ),
    (re.compile(rf"({_CLOCK})( ?)-( ?)(?={_CLOCK})"), _say_range),
    instead(
        r"(?:(?<=\d[ap]m)|(?<=\d[ap]\.m\.)|(?<=\d [ap]\.m\.))-(?=\w)", " to ", ignore_case=True
    ),
    # "3:00 p.m." is not "three o'clock p.m.".
    (re.compile(r"(?<![\d:])(\d{1,2}):00(?= [ap]\.?m\b)", re.IGNORECASE), lambda found: found[1]),
    (re.compile(rf"({_CLOCK})(?:{_MERIDIEM})?", re.IGNORECASE), _say_time),
    (
        re.compile(rf"(?<![\d:.,])(1[0-2]|0?[1-9]){_MERIDIEM}", re.IGNORECASE),
        lambda found: one_word(f"{int(found[1])} {found[2]}.m."),
    ),
    instead(r"\be\.g\.", "for example", ignore_case=True),
    instead(r"\bi\.e\.", "that is", ignore_case=True),
    instead(r"(?<=\d)(?=[¼½¾⅓⅔⅛⅜⅝⅞])", " and "),
    instead(r"°C\b", " degrees Celsius"),
    instead(r"°F\b", " degrees Fahrenheit"),
    instead("°", " degrees"),
    instead(r"(?<=\d)\*(?=\d)|(?<!\S)\*(?!\S)", " times "),
    instead(r"(?<![^\s\d])<(?![^\s\d])", " less than "),
    instead(r"(?<![^\s\d])>(?![^\s\d])", " greater than "),
    instead("&", " and "),
)
"""For every engine."""

CURRENCY_NAMES: Final[tuple[Rule, ...]] = (
    (re.compile(r"€ ?(\d+(?:[.,]\d+)*)"), lambda found: one_each(f"{found[1]} euros", found[0])),
    (re.compile(r"£ ?(\d+(?:[.,]\d+)*)"), lambda found: one_each(f"{found[1]} pounds", found[0])),
)
"""For engines that read digits and "$", and no other currency's sign."""
