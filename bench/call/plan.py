"""How much to measure."""

from dataclasses import dataclass, replace
from typing import Final

from bench.options import parse_rising

_MOST_CALLS: Final = 32
"""What the stack's worker takes at once."""


@dataclass(frozen=True)
class Plan:
    """What a run measures."""

    turns: int | None
    """Turns of the recorded set that each wiring hears; None: all of them."""
    turns_per_call: int
    beside: int | None
    """Interruptions, and back-channels, that each wiring hears; None: all of them."""
    beside_per_call: int
    """How many of each in one call of long answers."""
    loads: tuple[int, ...]
    """Calls at once, step by step, for what a call costs the worker."""
    talk_s: float
    """Length of such a step, seconds."""
    warm_up: bool
    """Whether each wiring first answers a call that does not count."""
    callers: int = 1
    """Calls at once while the turn is measured."""
    time_limit_s: float | None = None
    """No call but the first of each wiring begins after it, counted from the start of the run."""

    def changed(
        self,
        *,
        turns: int | None,
        beside: int | None,
        callers: int,
        loads: tuple[int, ...] | None,
    ) -> "Plan":
        """With what was asked for."""
        return replace(
            self,
            turns=turns or self.turns,
            beside=beside or self.beside,
            callers=callers,
            loads=self.loads if loads is None else loads,
        )


FULL: Final = Plan(
    turns=120,
    turns_per_call=6,
    beside=None,
    beside_per_call=4,
    loads=(1, 4, 8, 16),
    talk_s=20.0,
    warm_up=True,
)
QUICK: Final = Plan(
    turns=3,
    turns_per_call=3,
    beside=1,
    beside_per_call=1,
    loads=(),
    talk_s=5.0,
    warm_up=False,
    time_limit_s=75.0,
)


def parse_loads(text: str) -> tuple[int, ...]:
    """Calls at once from `1,4,8`; `0` measures none.

    Raises:
        BadOption: no rising list of whole numbers.
    """
    return parse_rising("--loads", text, _MOST_CALLS, may_be_none=True)
