"""A date of birth: day, month and year, said in any usual order."""

import datetime
import re

from language_server.slots.dates import MONTHS
from language_server.slots.plain_text import MAX_CHARS, plain, with_digits

EARLIEST_YEAR = 1900

_MONTH = f"(?P<month>{'|'.join(MONTHS)})"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d|(?:19|20)(?: hundred)?(?: and)? ?\d{1,2}|2000(?: and)? \d{1,2})"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<!\d)(?P<year>\d{4})[-/](?P<number>\d{1,2})[-/](?P<day>\d{1,2})(?!\d)",
        rf"\b{_DAY}(?: day)?(?: of)? {_MONTH}(?: in| of)?(?: the year)? {_YEAR}(?!\d)",
        rf"\b{_MONTH} (?:the )?{_DAY}(?: in| of)?(?: the year)? {_YEAR}(?!\d)",
    )
)


def find_birth_date(text: str, today: datetime.date) -> datetime.date | None:
    """The date of birth that a sentence tells, or None. A date without its year is none."""
    digit_text = with_digits(plain(text[-MAX_CHARS:]))
    for pattern in _PATTERNS:
        for match in pattern.finditer(digit_text):
            date = _date(match.groupdict())
            if date is not None and date.year >= EARLIEST_YEAR and date <= today:
                return date
    return None


def _date(found: dict[str, str]) -> datetime.date | None:
    month = int(found["number"]) if "number" in found else MONTHS.index(found["month"]) + 1
    try:
        return datetime.date(_year(found["year"]), month, int(found["day"]))
    except ValueError:
        return None


def _year(words: str) -> int:
    """The year in "1984", "19 84" and "2000 and 5"."""
    numbers = [int(number) for number in re.findall(r"\d+", words)]
    if len(numbers) == 1:
        return numbers[0] if numbers[0] > 99 else numbers[0] * 100
    first, second = numbers
    return (first if first > 99 else first * 100) + second
