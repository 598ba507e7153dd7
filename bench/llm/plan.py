"""How long and how hard to measure."""

from dataclasses import dataclass, replace
from typing import Final

from bench.options import parse_rising

_MOST_CALLERS: Final = 1024


@dataclass(frozen=True)
class Plan:
    """What a run measures."""

    prompt_tokens: int
    """Length of the system prompt."""
    answer_tokens: int
    prompts: int
    """Prompts asked cold, and then again with other words of the caller."""
    callers: tuple[int, ...]
    """Callers at once, step by step; all have the same system prompt."""
    turns: int
    """Of each caller in a step."""
    presses: int
    """How often the cache is filled with other prompts, with the prefix kept and without."""
    leaves: int = 0
    """Callers who hang up in the middle of an answer."""
    time_limit_s: float | None = None
    """No step of callers but the first begins after this, counted from the first question."""

    def changed(self, *, prompt_tokens: int | None, callers: tuple[int, ...] | None) -> "Plan":
        """With what was asked for."""
        return replace(
            self,
            prompt_tokens=prompt_tokens or self.prompt_tokens,
            callers=callers or self.callers,
        )


FULL: Final = Plan(
    prompt_tokens=3000,
    answer_tokens=48,
    prompts=8,
    callers=(1, 2, 4, 8),
    turns=8,
    presses=4,
    leaves=20,
)
QUICK: Final = Plan(
    prompt_tokens=3000,
    answer_tokens=16,
    prompts=3,
    callers=(1, 4),
    turns=3,
    presses=1,
    leaves=3,
    time_limit_s=40.0,
)


def parse_callers(text: str) -> tuple[int, ...]:
    """Callers at once from `1,2,4`.

    Raises:
        BadOption: no rising list of whole numbers.
    """
    return parse_rising("--callers", text, _MOST_CALLERS)
