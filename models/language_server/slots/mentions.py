"""Where a sentence mentions something that patterns describe, and which mention is meant."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True)
class Mention(Generic[Value]):
    """Something found in a sentence."""

    value: Value
    start: int
    """Where it begins in the digit text, characters."""
    end: int
    """Where it ends in the digit text, characters."""


def find_mentions(
    digit_text: str,
    patterns: Iterable[re.Pattern[str]],
    value_of: Callable[[re.Match[str]], Value | None],
) -> Iterator[Mention[Value]]:
    """Every mention in a text, those of the first pattern first; no two overlap.

    Args:
        digit_text: plain text with digits for numbers.
        patterns: surest first.
        value_of: what a match means; None where it means nothing, which leaves its text to others.
    """
    taken: list[tuple[int, int]] = []
    for pattern in patterns:
        for match in pattern.finditer(digit_text):
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            value = value_of(match)
            if value is not None:
                taken.append(match.span())
                yield Mention(value, *match.span())


def wanted(
    digit_text: str, mentions: Iterable[Mention[Value]], denied: re.Pattern[str]
) -> Value | None:
    """The first mention in the sentence that is not denied by the words before it."""
    for mention in sorted(mentions, key=lambda mention: mention.start):
        if not denied.search(digit_text[: mention.start]):
            return mention.value
    return None
