"""Prompts of a wanted length, each unlike every other from its first word on."""

import random
from collections.abc import Sequence
from typing import Final

_WORDS: Final = (
    "appointment", "practice", "dentist", "caller", "monday", "morning", "time", "name", "number",
    "answer", "telephone", "tool", "result", "speak", "short", "sentence", "booking", "cancel",
    "patient", "cleaning", "doctor", "insurance", "parking", "street", "evening", "weekend",
)  # fmt: skip
_SAMPLE_WORDS: Final = 1500
"""Words of the prompt by which a model's tokens per word are counted: so many that those of the
template do not matter."""


def words(count: int, seed: str) -> str:
    """So many words in an order that only this seed has."""
    chance = random.Random(seed)
    return " ".join([f"Practice {seed}.", *chance.choices(_WORDS, k=count)])


def sample() -> str:
    """A prompt by which to count."""
    return words(_SAMPLE_WORDS, "sample")


def words_for(tokens: int, sample_tokens: int) -> int:
    """How many words make a prompt of a wanted length.

    Args:
        tokens: wanted.
        sample_tokens: of `sample()`, by the server's count.
    """
    return max(1, round(tokens * _SAMPLE_WORDS / sample_tokens))


def turns(count: int, seed: str) -> Sequence[str]:
    """What a caller says, turn by turn."""
    return [words(8, f"{seed} {number}") for number in range(count)]
