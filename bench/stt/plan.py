"""How long and how hard to measure."""

from dataclasses import dataclass, replace
from typing import Final

from bench.options import parse_rising

BOUNDS_S: Final = (0.3, 0.5, 0.75, 1.0, 1.5)
"""Sustained callers are told for each of these and the one asked for."""
_MOST_STREAMS: Final = 2000


@dataclass(frozen=True)
class Plan:
    """The steps of a ramp."""

    steps: tuple[int, ...]
    """Callers at once, rising."""
    peer_steps: tuple[int, ...]
    """The same for the peers."""
    join_s: float
    """Callers join over this time, which is not counted; long enough for one turn of everybody."""
    talk_s: float
    """Length of a round from then on."""
    second_chance: bool
    """Whether a round that did not keep the bound is repeated once."""
    finals_only: bool = True
    """Whether ours is measured without interims as well, as peers that give none."""
    time_limit_s: float | None = None
    """No round begins that would not be over by then, counted from the start of the run."""
    bound_s: float = 0.5
    give_up_s: float | None = BOUNDS_S[-1]
    """A server whose 95th percentile is above this is not loaded further; None: all steps run."""

    def changed(
        self, *, steps: tuple[int, ...] | None, talk_s: float | None, bound_s: float
    ) -> "Plan":
        """With what was asked for."""
        return replace(
            self,
            steps=steps or self.steps,
            peer_steps=steps or self.peer_steps,
            talk_s=talk_s or self.talk_s,
            bound_s=bound_s,
            give_up_s=None if self.give_up_s is None else max(self.give_up_s, bound_s),
        )


_STEPS: Final = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
FULL: Final = Plan(_STEPS, _STEPS, 4.0, 30.0, second_chance=True)
QUICK: Final = Plan(
    (2, 8, 16, 24), (1, 2, 4), 1.5, 4.0, second_chance=False, finals_only=False, time_limit_s=54.0
)


def parse_steps(text: str) -> tuple[int, ...]:
    """Numbers of callers from `1,2,4`.

    Raises:
        BadOption: no rising list of whole numbers.
    """
    return parse_rising("--streams", text, _MOST_STREAMS)
