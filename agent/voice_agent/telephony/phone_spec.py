"""What a persona file says about the telephone: numbers, keys, transfers, answering machines."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from voice_agent.telephony.keys import MAX_ENTRY_KEYS
from voice_agent.telephony.phone_numbers import Destination, PhoneNumber

MAX_DESTINATIONS = 16
"""Most places to which callers of one persona are transferred."""

Sentence = Annotated[str, Field(min_length=1, max_length=600)]
DestinationName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]
Key = Annotated[str, StringConstraints(pattern=r"^[0-9*#]$")]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class TransferSpec(_Spec):
    """One place to which a caller may be transferred."""

    number: Destination
    """Where it is: a telephone number, or a `sip:` address."""
    when: Sentence
    """What it is for, told to the model."""
    how: Literal["cold", "warm"] = "cold"
    """cold: the carrier is asked to move the call (SIP REFER) and the agent is out of it. warm: the
    person is called first, hears a summary, takes the call with a key; then both are joined."""
    ringing_s: float = Field(25.0, ge=5, le=80)
    """Longest wait for an answer, seconds."""


class KeySpec(_Spec):
    """How keys that a caller presses are read."""

    menu: Mapping[Key, Sentence] = Field(default_factory=dict, max_length=12)
    """Key to what the caller means by it, as they would have said it."""
    length: int | None = Field(None, ge=1, le=MAX_ENTRY_KEYS)
    """Keys of one entry, where it is always the same; None: `#` or a pause ends it."""
    pause_s: float = Field(2.0, ge=0.5, le=10)
    """Pause that ends an entry, seconds."""


class PhoneSpec(_Spec):
    """The telephone side of one persona. Everything may be left out."""

    numbers: tuple[PhoneNumber, ...] = Field((), max_length=100)
    """Numbers of ours whose callers this persona answers, where the dispatch names no persona."""
    keys: KeySpec = KeySpec()
    transfers: Mapping[DestinationName, TransferSpec] = Field(
        default_factory=dict, max_length=MAX_DESTINATIONS
    )
    """Places to which callers may be transferred, by name. The model only ever picks a name."""
    transfer_words: Sentence = "One moment, I am putting you through."
    """Said before a transfer; then a hold tone sounds."""
    transfer_failed_words: Sentence = "I am sorry, nobody is free to take your call right now."
    """Said when a transfer came to nothing."""
    offer_words: Sentence = "To take this call, press 1. To decline, press 2."
    """Said to the person who is called, after the summary."""
    connected_words: Sentence = "You are connected."
    """Said to both sides of a warm transfer."""
    voicemail_message: Sentence | None = None
    """Left after the beep where an answering machine takes a call of ours; None: hang up."""
