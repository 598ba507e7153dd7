"""Numbers as English words. What one number is called is known to num2words."""

from decimal import Decimal
from typing import Final

from num2words import num2words

CURRENCIES: Final = {
    "$": ("USD", "dollars"),
    "€": ("EUR", "euros"),
    "£": ("GBP", "pounds"),
    "₹": ("INR", "rupees"),
    "¥": (None, "yen"),
}
"""Sign to ISO 4217 code, None where there is no smaller coin, and to the name of several."""

YEARS: Final = range(1100, 2100)
"""Numbers of four digits that are said as years: "1984" is far oftener a year than a count, and
"fifteen hundred people" is said as well."""
_LONGEST_COUNT: Final = 6
"""Digits. A longer number whose thousands are not marked is a code, said digit by digit."""
_LONGEST_NAMED: Final = 15
"""Digits of the largest number that has a name people know, trillions."""


def cardinal(value: int) -> str:
    """A count: 1234 → "one thousand two hundred and thirty-four"."""
    return _plain(num2words(value))


def ordinal(value: int) -> str:
    """A place in an order: 21 → "twenty-first"."""
    return _plain(num2words(value, to="ordinal"))


def year(value: int) -> str:
    """A year: 1984 → "nineteen eighty-four"."""
    return _plain(num2words(value, to="year"))


def decade(value: int) -> str:
    """Ten years, of one century or of any: 1990 → "nineteen nineties", 90 → "nineties"."""
    said = year(value) if value in YEARS else cardinal(value)
    return f"{said.removesuffix('y')}ies" if said.endswith("y") else f"{said}s"


def digits(text: str) -> str:
    """Each digit of a text: "0-12" → "zero one two"."""
    return " ".join(cardinal(int(char)) for char in text if char.isdecimal())


def number(text: str) -> str:
    """A number as it is written: "1,234.50", "1984", "007".

    Args:
        text: decimal digits with or without marked thousands and a decimal point.
    """
    whole, point, fraction = text.partition(".")
    ungrouped = whole.replace(",", "")
    code = whole == ungrouped and (
        len(whole) > _LONGEST_COUNT or (len(whole) > 1 and whole.startswith("0"))
    )
    if not ungrouped:
        said = ""
    elif code or len(ungrouped) > _LONGEST_NAMED:
        said = digits(ungrouped)
    elif len(whole) == 4 and not point and int(whole) in YEARS:
        said = year(int(whole))
    else:
        said = cardinal(int(ungrouped))
    return f"{said} point {digits(fraction)}".lstrip() if fraction else said


def money(amount: str, sign: str, magnitude: str = "") -> str:
    """An amount of money: "3.50" and "$" → "three dollars and fifty cents".

    Args:
        amount: as for `number`.
        sign: one of `CURRENCIES`.
        magnitude: "million" or the like.
    """
    code, plural = CURRENCIES[sign]
    whole, point, fraction = amount.replace(",", "").partition(".")
    whole = whole or "0"
    if magnitude or code is None or len(fraction) not in {0, 2} or len(whole) > _LONGEST_NAMED:
        # With its thousands marked it is a count and no year.
        count = f"{int(whole):,}" if len(whole) <= _LONGEST_NAMED else whole
        said = number(f"{count}{point}{fraction}")
        return " ".join(part for part in (said, magnitude, plural) if part)
    exact = Decimal(f"{whole}.{fraction or '00'}")
    coins = num2words(exact, to="currency", currency=code, separator="|").split("|")
    said_coins = [_plain(part) for part in coins]
    # People say neither "pounds sterling" nor, of several, "euro".
    said_coins[0] = said_coins[0].removesuffix(" sterling")
    if int(whole) != 1:
        said_coins[0] = f"{cardinal(int(whole))} {plural}"
    worth = [part for part in said_coins if not part.startswith("zero ")]
    return " and ".join(worth or said_coins[:1])


def _plain(words: str) -> str:
    """Without the commas of large numbers, which a voice would pause at."""
    return words.replace(",", "").strip()
