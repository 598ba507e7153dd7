"""The intents that the script knows, loaded from `intents.yaml` and checked."""

from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, RootModel, StringConstraints, model_validator


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


Example = Annotated[str, StringConstraints(min_length=2, max_length=120, pattern=r"^[a-z' ]+$")]


class IntentPhrases(BaseModel):
    """One entry of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    rank: int = Field(ge=1, le=10)
    """Of several intents in one sentence the highest rank is served."""
    examples: tuple[Example, ...] = Field(min_length=5)


class IntentFile(RootModel[dict[Intent, IntentPhrases]]):
    """The whole file: every intent once, no phrase under two of them."""

    @model_validator(mode="after")
    def _complete_and_distinct(self) -> "IntentFile":
        if missing := set(Intent) - set(self.root):
            raise ValueError(f"intents without phrases: {', '.join(sorted(missing))}")
        owner: dict[str, Intent] = {}
        for intent, phrases in self.root.items():
            for example in phrases.examples:
                if example in owner:
                    raise ValueError(f"{example!r} is under {owner[example]} and under {intent}")
                owner[example] = intent
        return self


def parse_intents(text: str) -> IntentFile:
    """Read an intent file.

    Raises:
        pydantic.ValidationError: an entry is missing, unknown, empty or doubled.
        yaml.YAMLError: the text is not YAML.
    """
    return IntentFile.model_validate(yaml.safe_load(text))


@cache
def built_in_intents() -> IntentFile:
    """The intents of `intents.yaml`."""
    return parse_intents((files("language_server.dialogue") / "intents.yaml").read_text("utf-8"))
