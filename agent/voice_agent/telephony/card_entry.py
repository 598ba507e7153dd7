"""The fields of a card as a caller keys them in: which key ends a field, and what is wrong with it.

No room, no clock, no text of digits.
"""

from datetime import date
from enum import Enum, auto
from typing import Final

from voice_agent.telephony.card_number import (
    MAX_LENGTH,
    brand_of,
    is_card_number,
    is_expiry,
)
from voice_agent.telephony.secret_digits import SecretDigits
from voice_agent.telephony.tokeniser import Card

EXPIRY_LENGTH: Final = 4
MAX_CODE_LENGTH: Final = 4


class Field(Enum):
    """What is being keyed in."""

    NUMBER = auto()
    EXPIRY = auto()
    CODE = auto()


class Step(Enum):
    """What a key did."""

    MORE = auto()
    """The field goes on."""
    NEXT = auto()
    """The field is whole and right."""
    WRONG = auto()
    """The field is whole and not right; it is empty again."""
    CLEARED = auto()
    """The caller starts the field again."""
    STOPPED = auto()
    """The caller does not want to go on."""


class CardEntry:
    """Reads a card key by key: `#` ends a field, `*` clears it, `*` in an empty field stops.

    Args:
        today: For the expiry.
    """

    def __init__(self, today: date) -> None:
        self._today = today
        self.card: Final = Card(
            SecretDigits(MAX_LENGTH), SecretDigits(EXPIRY_LENGTH), SecretDigits(MAX_CODE_LENGTH)
        )
        self.field: Field | None = Field.NUMBER
        """None once the card is whole."""

    @property
    def begun(self) -> bool:
        """Whether the field has a digit."""
        return self.field is not None and len(self._digits(self.field)) > 0

    @property
    def brand(self) -> str:
        """Whose card it is; only once the number is right."""
        brand = brand_of(self.card.number.view())
        return brand.name if brand is not None else "card"

    @property
    def last_four(self) -> str:
        """What may be shown of a number that is right. Source: PCI DSS 3.4.1."""
        return bytes(self.card.number.view()[-4:]).decode()

    def press(self, key: str) -> Step:
        """Take a key; those that mean nothing here are ignored."""
        field = self.field
        if field is None:
            return Step.MORE
        digits = self._digits(field)
        if key == "*":
            begun = len(digits) > 0
            digits.wipe()
            return Step.CLEARED if begun else Step.STOPPED
        if key == "#":
            return self._ended(field) if len(digits) else Step.MORE
        if key not in "0123456789":
            return Step.MORE
        digits.add(key)
        return self._ended(field) if len(digits) == self._longest(field) else Step.MORE

    @property
    def is_right(self) -> bool:
        """Whether the field is right as it stands; a number of 16 digits may have more to come."""
        return self.field is not None and self._is_right(self.field)

    def pause(self) -> Step:
        """The caller has stopped pressing: the field ends as if by `#`."""
        if self.field is None or not self.begun:
            return Step.MORE
        return self._ended(self.field)

    def _ended(self, field: Field) -> Step:
        if not self._is_right(field):
            self._digits(field).wipe()
            return Step.WRONG
        fields = list(Field)
        later = fields[fields.index(field) + 1 :]
        self.field = later[0] if later else None
        return Step.NEXT

    def _is_right(self, field: Field) -> bool:
        digits = self._digits(field).view()
        if field is Field.NUMBER:
            return is_card_number(digits)
        if field is Field.EXPIRY:
            return is_expiry(digits, self._today)
        return len(digits) == self._longest(field)

    def _longest(self, field: Field) -> int:
        if field is Field.NUMBER:
            return MAX_LENGTH
        if field is Field.EXPIRY:
            return EXPIRY_LENGTH
        brand = brand_of(self.card.number.view())
        return brand.code_length if brand is not None else 3

    def _digits(self, field: Field) -> SecretDigits:
        return {
            Field.NUMBER: self.card.number,
            Field.EXPIRY: self.card.expiry,
            Field.CODE: self.card.code,
        }[field]
