"""Days, as people say them ("next Tuesday", "the 24th"), resolved against today's date."""

import datetime
import re
from collections.abc import Iterator

from rapidfuzz import fuzz

from language_server.slots.mentions import Mention, find_mentions, wanted
from language_server.slots.plain_text import plain, with_digits

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
)  # fmt: skip

_WEEKDAY_HEARD_AS = (
    (
        re.compile(r"\b(?:two'?s|tues|twos|choose|chews|juice|dues|tews|tuse) ?day\b"),
        "tuesday",
    ),
    (re.compile(r"\b(?:tues|tue|tuesie|tuesy)\b"), "tuesday"),
    (re.compile(r"\b(?:wends|wens|when is|wedness|wednes|wed nes) ?day\b"), "wednesday"),
    (re.compile(r"\b(?:thurs|thirst|thirs|furs|firs|third's) ?day\b"), "thursday"),
    (re.compile(r"\b(?:thurs|thur)\b|(?<=\bon )thirsty\b"), "thursday"),
    (re.compile(r"\b(?:fry|fri|fried) ?day\b"), "friday"),
    (re.compile(r"\b(?:mon|mun) ?day\b"), "monday"),
    (re.compile(r"\b(?:satur|sat her|sadder|satter) ?day\b"), "saturday"),
    (re.compile(r"\b(?:to morrow|tomorow|tommorow|tommorrow|tomorrows)\b"), "tomorrow"),
    (re.compile(r"\bto day\b"), "today"),
)
_NOT_A_WEEKDAY = frozenset(
    {"today", "someday", "holiday", "holidays", "birthday", "everyday", "yesterday", "weekday",
     "weekdays", "midday", "payday", "mayday", "noonday"}
)  # fmt: skip
_WEEKDAY_SIMILARITY = 86.0
"""Least `rapidfuzz` ratio for a misspelt weekday; "wensday" has 88, "today" and "tuesday" 83."""

_WEEKDAY = f"(?P<weekday>{'|'.join(WEEKDAYS)})s?"
_MONTH = f"(?P<month>{'|'.join(MONTHS)})"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_LEAD = r"(?:\b(?:on|for|to|by|at) )?"
_NOT_ORDINAL_DAY = r"(?! (?:free|available|slot|appointment|time|one|opening|thing|possible|visit))"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        r"(?<!\d)(?P<iso>\d{4}-\d{1,2}-\d{1,2})(?!\d)",
        rf"{_LEAD}(?:\b{_WEEKDAY} )?(?:the )?\b{_DAY}(?:st|nd|rd|th)?(?: day)?(?: of)? {_MONTH}\b",
        rf"{_LEAD}(?:\b{_WEEKDAY} )?\b{_MONTH} (?:the )?{_DAY}(?:st|nd|rd|th)?\b(?!:)",
        rf"{_LEAD}(?:\b{_WEEKDAY} )?\bthe {_DAY}(?:st|nd|rd|th)\b{_NOT_ORDINAL_DAY}",
        rf"(?:\b{_WEEKDAY} )\b{_DAY}(?:st|nd|rd|th)\b",
        r"(?<![\d/])(?P<us_month>1[0-2]|0?[1-9])/(?P<us_day>[12]\d|3[01]|0?[1-9])(?![\d/])",
        rf"{_LEAD}(?P<next_week>next week)(?: on)? {_WEEKDAY}\b",
        rf"{_LEAD}(?:\ba |\b1 |\b)(?P<plus_week>week)(?: from| on| after) (?:next )?{_WEEKDAY}\b",
        rf"{_LEAD}\b{_WEEKDAY} (?P<next_week>(?:of )?(?:the )?next week)\b",
        rf"{_LEAD}\b{_WEEKDAY} (?P<plus_week>after next|week)\b",
        rf"{_LEAD}(?:\b(?P<which>this coming|this|next|coming|the following) )?\b{_WEEKDAY}\b",
        r"\b(?P<overmorrow>(?:the )?day after tomorrow)\b",
        rf"{_LEAD}\b(?P<tomorrow>tomorrow)\b",
        rf"{_LEAD}\b(?P<today>today|tonight|this (?:morning|afternoon|evening))\b",
        r"\bin (?P<count>\d{1,2}|a) (?P<unit>day|week)s?\b",
    )
)
_DENIED = re.compile(r"\b(?:not|from|instead of|rather than|my|than)(?: the| my| on)?\s*$")


def calendar_text(text: str) -> str:
    """The text in which `mentions` searches: plain, digits for numbers, weekdays repaired."""
    words = plain(text)
    for pattern, spelling in _WEEKDAY_HEARD_AS:
        words = pattern.sub(spelling, words)
    return with_digits(" ".join(_as_weekday(word) for word in words.split()))


def mentions(digit_text: str, today: datetime.date) -> Iterator[Mention[datetime.date]]:
    """Every day in a text made by `calendar_text`, surest patterns first."""
    return find_mentions(digit_text, _PATTERNS, lambda match: _day_of(match, today))


def find_day(text: str, today: datetime.date) -> datetime.date | None:
    """The day that a sentence asks for, or None. "Not Tuesday, Wednesday" is Wednesday."""
    digit_text = calendar_text(text)
    return wanted(digit_text, mentions(digit_text, today), _DENIED)


def _as_weekday(word: str) -> str:
    if len(word) < 6 or word in WEEKDAYS or word in _NOT_A_WEEKDAY or word.rstrip("s") in WEEKDAYS:
        return word
    best = max(WEEKDAYS, key=lambda weekday: fuzz.ratio(word, weekday))
    return best if fuzz.ratio(word, best) >= _WEEKDAY_SIMILARITY else word


def _day_of(match: re.Match[str], today: datetime.date) -> datetime.date | None:
    groups = {name: text for name, text in match.groupdict().items() if text}
    if iso := groups.get("iso"):
        year, month, day = (int(part) for part in iso.split("-"))
        return _date(year, month, day)
    if "us_month" in groups:
        return _next_date(today, int(groups["us_month"]), int(groups["us_day"]))
    if "month" in groups:
        return _next_date(today, MONTHS.index(groups["month"]) + 1, int(groups["day"]))
    if "day" in groups:
        return _next_day_of_month(today, int(groups["day"]))
    if "weekday" in groups:
        return _weekday_of(groups, today)
    return _shifted(today, _relative_days(groups))


def _relative_days(groups: dict[str, str]) -> int:
    if "overmorrow" in groups:
        return 2
    if "tomorrow" in groups:
        return 1
    if "today" in groups:
        return 0
    count = 1 if groups["count"] == "a" else int(groups["count"])
    return count * (7 if groups["unit"] == "week" else 1)


def _weekday_of(groups: dict[str, str], today: datetime.date) -> datetime.date | None:
    weekday = WEEKDAYS.index(groups["weekday"])
    ahead = (weekday - today.weekday()) % 7
    if "plus_week" in groups:
        return _shifted(today, (ahead or 7) + 7)
    if "next_week" in groups or groups.get("which") in {"next", "the following"}:
        return _shifted(today, 7 - today.weekday() + weekday)
    if ahead == 0 and groups.get("which") != "this":
        ahead = 7
    return _shifted(today, ahead)


def _shifted(today: datetime.date, days: int) -> datetime.date | None:
    try:
        return today + datetime.timedelta(days=days)
    except OverflowError:
        return None


def _date(year: int, month: int, day: int) -> datetime.date | None:
    try:
        return datetime.date(year, month, day)
    except ValueError:
        return None


def _next_date(today: datetime.date, month: int, day: int) -> datetime.date | None:
    """The first such date from today on. 29 February may be years away: that is no booking."""
    for year in (today.year, today.year + 1):
        date = _date(year, month, day)
        if date is not None and date >= today:
            return date
    return None


def _next_day_of_month(today: datetime.date, day: int) -> datetime.date | None:
    year, month = today.year, today.month
    for _ in range(3):  # of any three months in a row, one has 31 days
        date = _date(year, month, day)
        if date is not None and date >= today:
            return date
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return None
