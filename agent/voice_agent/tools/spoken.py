"""Times, dates and amounts the way one says them."""

from datetime import date, time

from voice_agent.opening_hours import WEEKDAYS

MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

_HOURS = (
    "twelve",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty")
_TEENS = (
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
)

_CURRENCIES = {
    "GBP": ("pound", "pounds", "pence"),
    "EUR": ("euro", "euros", "cents"),
    "USD": ("dollar", "dollars", "cents"),
}
"""ISO 4217 code to one, many, and the hundredth part."""


def spoken_time(moment: time) -> str:
    """Say a time of day: "half past three in the afternoon"."""
    hour, minute = moment.hour, moment.minute
    name, next_name = _HOURS[hour % 12], _HOURS[(hour + 1) % 12]
    if minute == 0:
        clock = name
    elif minute == 15:
        clock = f"quarter past {name}"
    elif minute == 30:
        clock = f"half past {name}"
    elif minute == 45:
        clock = f"quarter to {next_name}"
    else:
        clock = f"{name} {_minutes(minute)}"
    if hour < 12:
        return f"{clock} in the morning"
    return f"{clock} in the {'afternoon' if hour < 18 else 'evening'}"


def spoken_day(day: date) -> str:
    """Say a date: "Tuesday 24 November"."""
    return f"{WEEKDAYS[day.weekday()]} {day.day} {MONTHS[day.month - 1]}"


def _minutes(minute: int) -> str:
    if minute < 10:
        return f"oh {_HOURS[minute]}"
    if minute < 20:
        return _TEENS[minute - 10]
    tens, ones = divmod(minute, 10)
    return f"{_TENS[tens]} {_HOURS[ones]}" if ones else _TENS[tens]


def spoken_money(cents: int, currency: str) -> str:
    """Say an amount without its sign: "1,084 pounds 50", "1 euro", "5 pence".

    Args:
        cents: Whole number of the currency's smallest unit.
        currency: ISO 4217 code; unknown ones are said by their code.
    """
    one, many, small = _CURRENCIES.get(currency, (currency, currency, "cents"))
    whole, rest = divmod(abs(cents), 100)
    name = one if whole == 1 else many
    if rest == 0:
        return f"{whole:,} {name}"
    if whole == 0:
        return f"{rest} {small}"
    return f"{whole:,} {name} {rest}" if rest >= 10 else f"{whole:,} {name} and {rest} {small}"
