"""The intents that the script knows, loaded from `intents.yaml` and checked."""

from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StringConstraints,
    ValidationInfo,
    model_validator,
)


class Intent(StrEnum):
    """What one sentence is for."""

    GREETING = "greeting"
    HOW_ARE_YOU = "how_are_you"
    OPENING_HOURS = "opening_hours"
    FREE_SLOTS = "free_slots"
    BOOK = "book"
    FIND = "find"
    MOVE = "move"
    CANCEL = "cancel"
    HUMAN = "human"
    EMERGENCY = "emergency"
    GOODBYE = "goodbye"
    THANKS = "thanks"
    REPEAT = "repeat"
    IDENTITY = "identity"
    CAPABILITIES = "capabilities"
    ADDRESS = "address"
    PARKING = "parking"
    INSURANCE = "insurance"
    PRICE = "price"
    PHONE = "phone"
    STAFF = "staff"
    YES = "yes"
    NO = "no"
    HOLD_ON = "hold_on"
    DONT_KNOW = "dont_know"
    SMALL_TALK = "small_talk"
    ABUSE = "abuse"
    BALANCE = "balance"
    BALANCE_CHANGE = "balance_change"
    DISPUTE = "dispute"


BANK_INTENTS = frozenset({Intent.BALANCE, Intent.BALANCE_CHANGE, Intent.DISPUTE})
"""What only callers of the bank want."""

FRONT_DESK_INTENTS = frozenset(Intent) - BANK_INTENTS
"""What callers of the dental practice want, courtesies included."""

SHARED_INTENTS = frozenset(
    {Intent.GREETING, Intent.HOW_ARE_YOU, Intent.HUMAN, Intent.GOODBYE, Intent.THANKS,
     Intent.REPEAT, Intent.IDENTITY, Intent.CAPABILITIES, Intent.YES, Intent.NO, Intent.HOLD_ON,
     Intent.DONT_KNOW, Intent.SMALL_TALK, Intent.ABUSE}
)  # fmt: skip
"""Courtesies that every caller may say."""


Example = Annotated[str, StringConstraints(min_length=2, max_length=120, pattern=r"^[a-z' ]+$")]


class IntentPhrases(BaseModel):
    """One entry of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(ge=1, le=10)
    """Of several intents in one sentence the highest rank is served."""
    examples: tuple[Example, ...] = Field(min_length=5)


class IntentFile(RootModel[dict[Intent, IntentPhrases]]):
    """A whole file: every expected intent once, no phrase under two of them.

    The intents that are expected come with the validation context, under `intents`.
    """

    @model_validator(mode="after")
    def _complete_and_distinct(self, info: ValidationInfo) -> "IntentFile":
        expected: frozenset[Intent] = (info.context or {}).get("intents", frozenset())
        if missing := expected - set(self.root):
            raise ValueError(f"intents without phrases: {', '.join(sorted(missing))}")
        owner: dict[str, Intent] = {}
        for intent, phrases in self.root.items():
            for example in phrases.examples:
                if example in owner:
                    raise ValueError(f"{example!r} is under {owner[example]} and under {intent}")
                owner[example] = intent
        return self


def parse_intents(text: str, expected: frozenset[Intent] = FRONT_DESK_INTENTS) -> IntentFile:
    """Read an intent file.

    Args:
        text: YAML.
        expected: Intents that it must have.

    Raises:
        pydantic.ValidationError: an entry is missing, unknown, empty or doubled.
        yaml.YAMLError: the text is not YAML.
    """
    return IntentFile.model_validate(yaml.safe_load(text), context={"intents": expected})


@cache
def built_in_intents() -> IntentFile:
    """The intents of `intents.yaml`: the front desk."""
    return parse_intents(_text("intents.yaml"))


@cache
def bank_intents() -> IntentFile:
    """The intents of `bank_intents.yaml`, and the courtesies of the front desk."""
    shared = {i: p for i, p in built_in_intents().root.items() if i in SHARED_INTENTS}
    own = parse_intents(_text("bank_intents.yaml"), BANK_INTENTS).root
    return IntentFile.model_validate({**shared, **own})


def _text(file_name: str) -> str:
    return (files("language_server.dialogue") / file_name).read_text("utf-8")
