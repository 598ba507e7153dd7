"""Times of day, as people say them and as speech recognition writes them.

A practice is not open at half past three in the morning, so "three thirty" is 15:30: an hour
without "a.m." or "p.m." is read as the one that lies in a working day.
"""

import datetime
import re
from collections.abc import Iterator

from language_server.slots.mentions import Mention, find_mentions, wanted
from language_server.slots.plain_text import plain, with_digits

WORKDAY_FIRST_HOUR = 7
"""Hours from here to noon are mornings when nothing else is said; smaller ones are afternoons."""

_BEFORE_TIME = r"(?:at|around|about|by|past|till|until)"
_AFTER_TIME = r"(?:thirty|fifteen|twenty|forty|forty five|ten|fifty|30|15|45|oclock|am|pm)"
# What recognition makes of a lone number word beside a clock word.
_HOMOPHONES = (
    (re.compile(rf"\b(?:free|tree)\b(?= {_AFTER_TIME}\b)"), "three"),
    (re.compile(rf"(?<=\b)({_BEFORE_TIME}) (?:free|tree)\b"), r"\1 three"),
    (re.compile(rf"\b({_BEFORE_TIME}) (?:for|fore)\b(?=$| {_AFTER_TIME}\b)"), r"\1 four"),
    (re.compile(rf"\b({_BEFORE_TIME}) (?:to|too)\b(?=$| {_AFTER_TIME}\b)"), r"\1 two"),
    (re.compile(rf"\b({_BEFORE_TIME}) ate\b"), r"\1 eight"),
    (re.compile(rf"\b({_BEFORE_TIME}) won\b"), r"\1 one"),
    (re.compile(rf"\belephant(?= {_AFTER_TIME}\b)"), "eleven"),
)
_SPELLINGS = (
    (re.compile(r"\b(the|that|this|which|first|last|other|second) one\b"), r"\1 it"),
    (re.compile(r"\b(?:passed|pass|pasts)\b"), "past"),
    (re.compile(r"\b(?:have|hath|hav|half a|hoff) past\b"), "half past"),
    (re.compile(r"\b(?:o clock|o'clock|a clock|clock|[ae]c+[kl]+[aeu]ck)\b"), "oclock"),
    (re.compile(r"\b(?:a quarter|quarters|court of|quarter of)\b"), "quarter"),
)

_HOUR = r"(?P<hour>[01]?\d|2[0-3])"
_MINUTE = r"(?P<minute>[0-5]\d)"
_HALF = r"(?:\s?(?P<half>[ap]m)\b)?"
_LEAD = r"(?:\b(?:at|around|about|by|for|to|till|until|before|after|exactly) )?"
_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"{_LEAD}(?<![\d:]){_HOUR}:{_MINUTE}(?![\d:]){_HALF}",
        rf"{_LEAD}\bhalf(?: past| after)? {_HOUR}\b(?P<fixed_half>){_HALF}",
        rf"{_LEAD}\bquarter(?: past| after) {_HOUR}\b(?P<fixed_quarter>){_HALF}",
        rf"{_LEAD}\bquarter(?: to| of| till| before)? {_HOUR}\b(?P<minus_quarter>){_HALF}",
        rf"{_LEAD}\b(?P<past>[1-5]?\d)(?: minutes?)?(?: past| after) {_HOUR}\b{_HALF}",
        rf"{_LEAD}\b(?P<to>5|10|20|25|[1-5]?\d(?= minutes?))(?: minutes?)?(?: to| till| before) "
        rf"{_HOUR}\b{_HALF}",
        rf"{_LEAD}(?<![\d:/])\b{_HOUR} {_MINUTE}\b(?![:/])(?: oclock)?{_HALF}",
        rf"{_LEAD}\b{_HOUR} (?:oh?|0) (?P<digit>\d)\b{_HALF}",
        rf"{_LEAD}(?<![\d:/])\b{_HOUR}(?: oclock)?\s?(?P<half>[ap]m)\b",
        rf"{_LEAD}\b{_HOUR} ?oclock\b{_HALF}",
        rf"\b(?:at|around|about|by) (?P<joined>[1-9]|1\d|2[0-3]){_MINUTE}\b{_HALF}",
        rf"(?<![\d:/])\b(?P<joined>[1-9]|1\d|2[0-3]){_MINUTE}\s?(?P<half>[ap]m)\b",
        rf"\b(?:at|around|about|by|before|after|till|until) {_HOUR}\b(?![:/]|th|nd|rd|st)"
        r"(?! (?:day|week|month|hour|minute|o\b|street|people))",
        rf"\bto {_HOUR}\b(?=$| (?:please|instead|if|then))",
        rf"\b{_HOUR}\b(?= in the (?:morning|afternoon|evening))",
        rf"{_LEAD}\b(?P<noon>noon|midday|mid day)\b",
    )
)
_BARE_PATTERNS = (
    re.compile(rf"(?<![\d:/])\b(?P<joined>[1-9]|1\d|2[0-3]){_MINUTE}\b"),
    re.compile(rf"(?<![\d:/])\b{_HOUR}\b(?![:/])"),
)
_MORNING = re.compile(r"\b(?:in the morning|this morning|morning)\b")
_AFTERNOON = re.compile(r"\b(?:in the afternoon|this afternoon|afternoon|evening|tonight)\b")
_DENIED = re.compile(r"\b(?:not|from|instead of|rather than|my|than)(?: the| my)?\s*$")


def clock_text(text: str) -> str:
    """The text in which `mentions` searches: plain, digits for numbers, clock words repaired."""
    words = plain(text)
    for pattern, spelling in _SPELLINGS + _HOMOPHONES:
        words = pattern.sub(spelling, words)
    return with_digits(words)


def mentions(digit_text: str, *, bare: bool = False) -> Iterator[Mention[datetime.time]]:
    """Every time in a text made by `clock_text`, surest patterns first.

    Args:
        digit_text: what `clock_text` returned.
        bare: a lone number counts as a time, because a time was asked for.
    """
    patterns = _PATTERNS + (_BARE_PATTERNS if bare else ())
    return find_mentions(digit_text, patterns, lambda match: _time_of(match, digit_text))


def find_time(text: str, *, bare: bool = False) -> datetime.time | None:
    """The time that a sentence asks for, or None.

    "Not at three, at four" is four; of several wishes ("three or four") the first counts.
    """
    digit_text = clock_text(text)
    return wanted(digit_text, mentions(digit_text, bare=bare), _DENIED)


def _time_of(match: re.Match[str], digit_text: str) -> datetime.time | None:
    groups = match.groupdict()
    if groups.get("noon"):
        return datetime.time(12)
    hour = int(groups.get("hour") or groups["joined"])
    minute = _minute_of(groups)
    if minute < 0:
        hour, minute = hour - 1, minute + 60
        hour = 12 if hour == 0 else hour
    if not (0 <= hour <= 23 and 0 <= minute <= 59):
        return None
    return datetime.time(_working_hour(hour, groups.get("half"), digit_text), minute)


def _minute_of(groups: dict[str, str | None]) -> int:
    """Minutes after the named hour; negative when the hour is yet to come."""
    if groups.get("fixed_half") is not None:
        return 30
    if groups.get("fixed_quarter") is not None:
        return 15
    if groups.get("minus_quarter") is not None:
        return -15
    if past := groups.get("past"):
        return int(past)
    if to := groups.get("to"):
        return -int(to)
    return int(groups.get("minute") or groups.get("digit") or 0)


def _working_hour(hour: int, half: str | None, digit_text: str) -> int:
    if hour > 12 or hour == 0:
        return hour
    if half is None and _AFTERNOON.search(digit_text):
        half = "pm"
    elif half is None and _MORNING.search(digit_text) and hour >= 6:
        half = "am"
    if half == "am":
        return hour % 12
    if half == "pm":
        return hour % 12 + 12
    return hour if hour >= WORKDAY_FIRST_HOUR else hour + 12
