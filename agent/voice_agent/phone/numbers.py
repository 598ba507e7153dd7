"""Telephone numbers: what counts as one, and how it is shown."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

_E164 = re.compile(r"\+[1-9][0-9]{6,14}")
"""Source: ITU-T E.164, at most 15 digits. Below seven there are only short codes, among them every
emergency number, and no program may call those."""

SHOWN_DIGITS = 4
"""Digits at the end of a number that are shown."""


def _check(value: str) -> str:
    if not _E164.fullmatch(value):
        raise ValueError("must be a number in E.164 form such as +14155550100")
    return value


E164 = Annotated[str, AfterValidator(_check)]
"""A number that can be called from anywhere: `+`, country code, number, no spaces."""

DialledNumber = Annotated[str, Field(pattern=r"^\+?[0-9]{2,15}$")]
"""A number as a provider spells it: E.164, the same without `+`, or an extension."""


def is_e164(value: str) -> bool:
    """Whether the text is a number in E.164 form."""
    return _E164.fullmatch(value) is not None


def masked(number: str) -> str:
    """The number with only its last digits, to tell calls apart without telling who is called."""
    return f"…{number[-SHOWN_DIGITS:]}" if len(number) > SHOWN_DIGITS else "…"
