"""What English abbreviations and units are said as, for engines that do not read them."""

import re
from typing import Final

from speech_server.tts.spoken_forms import INNER_BLANK, Rule, one_word

UNITS: Final = {
    short: (one, several)
    for shorts, one, several in (
        ("km", "kilometer", "kilometers"),
        ("cm", "centimeter", "centimeters"),
        ("mm", "millimeter", "millimeters"),
        ("ft", "foot", "feet"),
        ("m²", "square meter", "square meters"),
        ("km²", "square kilometer", "square kilometers"),
        ("km/h kph", "kilometer per hour", "kilometers per hour"),
        ("mph", "mile per hour", "miles per hour"),
        ("kg", "kilogram", "kilograms"),
        ("mg", "milligram", "milligrams"),
        ("lb lbs", "pound", "pounds"),
        ("oz", "ounce", "ounces"),
        ("ml mL", "milliliter", "milliliters"),
        ("hr hrs", "hour", "hours"),
        ("min mins", "minute", "minutes"),
        ("sec secs", "second", "seconds"),
        ("ms", "millisecond", "milliseconds"),
        ("KB kB", "kilobyte", "kilobytes"),
        ("MB", "megabyte", "megabytes"),
        ("GB", "gigabyte", "gigabytes"),
        ("TB", "terabyte", "terabytes"),
        ("Hz", "hertz", "hertz"),
        ("kHz", "kilohertz", "kilohertz"),
        ("MHz", "megahertz", "megahertz"),
        ("GHz", "gigahertz", "gigahertz"),
        ("kW", "kilowatt", "kilowatts"),
        ("kWh", "kilowatt hour", "kilowatt hours"),
    )
    for short in shorts.split()
}
"""Unit behind a number to its name for one and for several. Left out is what may be a word or
something else: "m" is a million as well, "in" a preposition."""

PERIODS: Final = {
    "hr": "hour", "wk": "week", "mo": "month", "yr": "year",
    **{whole: whole for whole in ("hour", "day", "night", "week", "month", "year", "person")},
}  # fmt: skip
"""What an amount is told for: "$20/month"."""

_TITLES: Final = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Prof": "Professor", "Rev": "Reverend",
    "Gen": "General", "Sen": "Senator", "Rep": "Representative", "Gov": "Governor",
    "Capt": "Captain", "Lt": "Lieutenant", "Sgt": "Sergeant", "Mt": "Mount", "Ft": "Fort",
}  # fmt: skip
"""Before a name. "St." is left as it is: it may be a street or a saint."""
_BEFORE_NUMBER: Final = {
    "no": "number", "nos": "numbers", "fig": "figure", "vol": "volume", "ch": "chapter",
    "sec": "section", "art": "article", "ext": "extension", "apt": "apartment",
}  # fmt: skip
_ANYWHERE: Final = {
    "vs": "versus", "approx": "approximately", "dept": "department", "est": "established",
    "ave": "avenue", "blvd": "boulevard", "etc": "et cetera",
}  # fmt: skip
_DAYS: Final = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_DAY = rf"\b({'|'.join(sorted(_DAYS, key=len, reverse=True))})\b\.?"


def _say_title(found: re.Match[str]) -> str:
    return _TITLES[found[1]]


def _say_before_number(found: re.Match[str]) -> str:
    return _BEFORE_NUMBER[found[1].lower()] + (found[2] or INNER_BLANK)


def _say_anywhere(found: re.Match[str]) -> str:
    said = one_word(_ANYWHERE[found[1].lower()])
    # At the end of the text the full stop ends the sentence too.
    return said if found.end() < len(found.string) else f"{said}."


def _say_days(found: re.Match[str]) -> str:
    return f"{_DAYS[found[1]]}{INNER_BLANK}to{INNER_BLANK}{_DAYS[found[2]]}"


ABBREVIATIONS: Final[tuple[Rule, ...]] = (
    (re.compile(rf"\b({'|'.join(_TITLES)})\.(?= [A-Z])"), _say_title),
    (
        re.compile(rf"\b({'|'.join(_BEFORE_NUMBER)})\.( ?)(?=\d)", re.IGNORECASE),
        _say_before_number,
    ),
    (re.compile(rf"\b({'|'.join(_ANYWHERE)})\.", re.IGNORECASE), _say_anywhere),
    (re.compile(rf"{_DAY}-{_DAY}"), _say_days),
)
"""To be applied before numbers are."""
