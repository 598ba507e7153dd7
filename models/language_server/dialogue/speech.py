"""Wording: times, days and lists the way one says them, short and free of markup."""

import datetime
import re
from collections.abc import Sequence

from language_server.slots.dates import MONTHS, WEEKDAYS

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = ("", "", "twenty", "thirty", "forty", "fifty")
_MAX_LISTED = 4
_AGAIN = "As I said: "
_SENTENCE = re.compile(r".+?[.!?](?=\s|$)|.+")
_UNSPEAKABLE = re.compile(r"[_{}<>\[\]\\/`=*#|~^]|Traceback")


def speak_time(time: datetime.time) -> str:
    """A time of day such as "three thirty p.m.", the form that recognition writes as 3:30."""
    if (time.hour, time.minute) == (12, 0):
        return "noon"
    half = "a.m." if time.hour < 12 else "p.m."
    hour = _ONES[(time.hour - 1) % 12 + 1]
    if time.minute == 0:
        return f"{hour} {half}"
    minute = f"oh {_ONES[time.minute]}" if time.minute < 10 else speak_number(time.minute)
    return f"{hour} {minute} {half}"


def speak_number(number: int) -> str:
    """A number from 0 to 59 in words."""
    if number < 20:
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return f"{_TENS[tens]}-{_ONES[ones]}" if ones else _TENS[tens]


def speak_day(day: datetime.date) -> str:
    """A day such as "Tuesday the 24th of November"."""
    suffix = (
        "th" if day.day in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    )
    weekday = WEEKDAYS[day.weekday()].capitalize()
    return f"{weekday} the {day.day}{suffix} of {MONTHS[day.month - 1].capitalize()}"


def speak_moment(day: datetime.date, time: datetime.time) -> str:
    """Day and time: "Tuesday the 24th of November at three thirty p.m."."""
    return f"{speak_day(day)} at {speak_time(time)}"


def join(parts: Sequence[str], word: str = "and") -> str:
    """A spoken list: "nine, ten and eleven"."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} {word} {parts[-1]}"


def speak_slots(slots: Sequence[datetime.time]) -> str:
    """Free times: all when they are few, otherwise the range and some of them."""
    if len(slots) <= _MAX_LISTED:
        return join([speak_time(slot) for slot in slots])
    picks = [slots[0], slots[len(slots) // 2], slots[-1]]
    return f"several times, for example {join([speak_time(slot) for slot in picks], 'or')}"


def sentence(text: str) -> str:
    """The text with exactly one mark at its end ("at nine a.m." needs no second full stop)."""
    return text if text.endswith((".", "!", "?")) else f"{text}."


def first_sentence(text: str, max_chars: int) -> str | None:
    """The first sentence of a foreign text when it can be said aloud, else None.

    Names of tools, markup and stack traces cannot.
    """
    match = _SENTENCE.match(" ".join(text.split()))
    found = match.group().strip() if match else ""
    speakable = any(c.isalpha() for c in found) and not _UNSPEAKABLE.search(found)
    if not speakable or len(found) > max_chars:
        return None
    return sentence(found)


def fresh(text: str, last: str) -> str:
    """The text, or the text marked as a repetition where it would repeat the last answer."""
    if not text or text != last:
        return text
    return text.removeprefix(_AGAIN) if text.startswith(_AGAIN) else _AGAIN + text


def vary(variants: Sequence[str], last: str) -> str:
    """The first wording that the last answer did not use."""
    return next((text for text in variants if text not in last), variants[0])
