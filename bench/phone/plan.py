"""How much to measure."""

from dataclasses import dataclass, replace
from typing import Final

from bench.options import BadOption, parse_rising

MOST_CALLS: Final = 32
"""What the stack's worker takes at once."""


@dataclass(frozen=True)
class Plan:
    """What a run measures."""

    lines: int
    """Of the recorded conversation, said on each path."""
    conversations: int
    """How often that is held: its words are few, and which are misheard differs by the call."""
    calls: int
    """With turns of the recorded set, on each path."""
    turns_per_call: int
    in_a_row: int
    """Calls one after another."""
    at_once: int
    """Calls begun in the same moment."""
    ladder: tuple[int, ...]
    """Calls that are on at once, step by step, until something is heard that was not said."""
    listen_s: float
    """How much of a long answer each of them hears, seconds."""
    time_limit_s: float | None = None
    """No further step begins after it, counted from when the stack is up."""

    def changed(
        self,
        *,
        lines: int | None,
        conversations: int | None,
        calls: int | None,
        in_a_row: int | None,
        at_once: int | None,
        ladder: tuple[int, ...] | None,
    ) -> "Plan":
        """With what was asked for."""
        return replace(
            self,
            lines=self.lines if lines is None else lines,
            conversations=self.conversations if conversations is None else conversations,
            calls=self.calls if calls is None else calls,
            in_a_row=self.in_a_row if in_a_row is None else in_a_row,
            at_once=self.at_once if at_once is None else at_once,
            ladder=self.ladder if ladder is None else ladder,
        )


FULL: Final = Plan(
    lines=5,
    conversations=8,
    calls=6,
    turns_per_call=2,
    in_a_row=20,
    at_once=8,
    ladder=(1, 2, 4, 8, 16),
    listen_s=9.0,
    time_limit_s=1200.0,
)
QUICK: Final = Plan(
    lines=2,
    conversations=1,
    calls=0,
    turns_per_call=1,
    in_a_row=2,
    at_once=2,
    ladder=(1,),
    listen_s=3.0,
    time_limit_s=80.0,
)


def parse_ladder(text: str) -> tuple[int, ...]:
    """Calls at once from `1,2,4`; `0` measures none.

    Raises:
        BadOption: no rising list of whole numbers that begins with 1.
    """
    steps = parse_rising("--ladder", text, MOST_CALLS, may_be_none=True)
    if steps and steps[0] != 1:
        raise BadOption(
            f"--ladder {text}: begin with 1; what one caller hears alone is what the others' is "
            "compared with"
        )
    return steps
