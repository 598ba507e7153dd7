"""Card numbers: check digit, lengths by brand, expiry; on bytes that can be wiped.

Digits are ASCII bytes ("0" is 48). Nothing here makes text of them.
"""

from collections.abc import Sequence
from datetime import date
from typing import Final, NamedTuple

_ZERO: Final = ord("0")

MIN_LENGTH: Final = 12
MAX_LENGTH: Final = 19
"""Digits of a card number. Source: ISO/IEC 7812-1; 12 is the shortest Maestro."""


class Brand(NamedTuple):
    """Whose number it is."""

    name: str
    lengths: frozenset[int]
    code_length: int = 3
    """Digits of the verification code."""


_VISA: Final = Brand("Visa", frozenset({13, 16, 19}))
_MASTERCARD: Final = Brand("Mastercard", frozenset({16}))
_AMEX: Final = Brand("American Express", frozenset({15}), 4)
_DINERS: Final = Brand("Diners Club", frozenset({14, 16, 19}))
_DISCOVER: Final = Brand("Discover", frozenset({16, 19}))
_JCB: Final = Brand("JCB", frozenset({16, 17, 18, 19}))
_UNIONPAY: Final = Brand("UnionPay", frozenset({16, 17, 18, 19}))
_MAESTRO: Final = Brand("Maestro", frozenset(range(12, 20)))

_RANGES: Final = (
    (4, 4, _VISA),
    (51, 55, _MASTERCARD),
    (2221, 2720, _MASTERCARD),
    (34, 34, _AMEX),
    (37, 37, _AMEX),
    (300, 305, _DINERS),
    (3095, 3095, _DINERS),
    (36, 36, _DINERS),
    (38, 39, _DINERS),
    (6011, 6011, _DISCOVER),
    (644, 659, _DISCOVER),
    (3528, 3589, _JCB),
    (62, 62, _UNIONPAY),
    (50, 50, _MAESTRO),
    (56, 69, _MAESTRO),
)
"""First and last prefix, and whose it is; the first that fits counts. Source: the brands' published
issuer ranges."""

MAX_VALID_YEARS: Final = 20
"""A card is not issued for longer."""


def luhn(digits: Sequence[int]) -> bool:
    """Whether the last digit checks the others. Source: ISO/IEC 7812-1, annex B.

    Args:
        digits: ASCII codes of digits.
    """
    total = 0
    for place, code in enumerate(reversed(digits)):
        digit = code - _ZERO
        if place % 2:
            digit = digit * 2 - 9 if digit > 4 else digit * 2
        total += digit
    return len(digits) > 1 and total % 10 == 0


def brand_of(digits: Sequence[int]) -> Brand | None:
    """Whose number begins like this; None: nobody's."""
    for first, last, brand in _RANGES:
        length = len(str(first))
        if len(digits) >= length and first <= _value(digits[:length]) <= last:
            return brand
    return None


def _value(digits: Sequence[int]) -> int:
    value = 0
    for code in digits:
        value = value * 10 + code - _ZERO
    return value


def is_card_number(digits: Sequence[int]) -> bool:
    """Whether these are all the digits of a card number."""
    brand = brand_of(digits)
    return brand is not None and len(digits) in brand.lengths and luhn(digits)


def is_expiry(digits: Sequence[int], today: date) -> bool:
    """Whether MMYY names a month that is not over and not absurdly far off."""
    if len(digits) != 4:
        return False
    month, year = _value(digits[:2]), 2000 + _value(digits[2:])
    months_left = (year - today.year) * 12 + month - today.month
    return 1 <= month <= 12 and 0 <= months_left <= 12 * MAX_VALID_YEARS
