"""Telephone numbers as they come from the network and from persona files."""

import re
from typing import Annotated, Final

from pydantic import AfterValidator, Field

MAX_DIGITS: Final = 20
"""Longest number. E.164 allows 15 digits; internal extensions and prefixes are dialled as well."""

_SEPARATORS: Final = re.compile(r"[\s().\-/]")
_NUMBER: Final = re.compile(rf"\+?[0-9]{{2,{MAX_DIGITS}}}")
_SIP_ADDRESS: Final = re.compile(
    r"sips?:[A-Za-z0-9_.!~*'()&=+$,;?/%-]{1,64}@[A-Za-z0-9.\-]{1,255}(:[0-9]{1,5})?"
)


def clean_number(value: str) -> str | None:
    """A number as `+` and ASCII digits; None where the text is none ("anonymous", hostile words).

    Args:
        value: Whatever a network or a header says; not to be trusted.
    """
    if len(value) > 2 * MAX_DIGITS:
        return None
    number = _SEPARATORS.sub("", value)
    return number if _NUMBER.fullmatch(number) else None


def same_number(one: str, other: str) -> bool:
    """Whether two cleaned numbers are the same; carriers add the `+` or leave it out."""
    return one.removeprefix("+") == other.removeprefix("+")


def _number(value: str) -> str:
    number = clean_number(value)
    if number is None:
        raise ValueError("is not a telephone number such as +442079460000")
    return number


def _destination(value: str) -> str:
    number = clean_number(value)
    if number is not None:
        return number
    if _SIP_ADDRESS.fullmatch(value):
        return value
    raise ValueError("is neither a number such as +442079460000 nor an address such as sip:a@b.c")


PhoneNumber = Annotated[str, Field(max_length=64), AfterValidator(_number)]
"""2-20 digits, with or without a leading `+`; separators are dropped."""

Destination = Annotated[str, Field(max_length=340), AfterValidator(_destination)]
"""A telephone number, or a `sip:` or `sips:` address."""
