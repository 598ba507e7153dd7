"""More and more load, until answers come too late; the servers under test take turns."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar


class Measured(Protocol):
    """The result of one round."""

    @property
    def system(self) -> str:
        """Name of the server."""

    @property
    def step(self) -> float:
        """The load: callers at once, or arrivals per second."""

    def within(self, bound_s: float) -> bool:
        """Whether everybody was served, and in time."""


SystemT = TypeVar("SystemT")
StepT = TypeVar("StepT", int, float)
RoundT = TypeVar("RoundT", bound=Measured)


async def ramp(
    steps: Mapping[SystemT, Sequence[StepT]],
    measure: Callable[[SystemT, StepT], Awaitable[RoundT]],
    *,
    bound_s: float,
    give_up_s: float | None,
    second_chance: bool,
) -> list[RoundT]:
    """Measure every server at its steps until it is overloaded.

    The servers take turns, and who begins changes from step to step: what disturbs the machine
    meanwhile meets all of them.

    Args:
        steps: for each server its loads, rising.
        measure: runs one round.
        bound_s: what a round should keep, seconds.
        give_up_s: a server that does not even keep this is not loaded further; None: every step is
            measured.
        second_chance: repeat once the first round of a server that does not keep the bound.
    """
    rounds: list[RoundT] = []
    running = list(steps)
    keeping = set(running) if second_chance else set()
    for index in range(max(map(len, steps.values()), default=0)):
        for system in [one for one in running if index < len(steps[one])]:
            result = await measure(system, steps[system][index])
            rounds.append(result)
            if system in keeping and not result.within(bound_s):
                result = await measure(system, steps[system][index])
                rounds.append(result)
                if not result.within(bound_s):
                    keeping.remove(system)
            if give_up_s is not None and not result.within(give_up_s):
                running.remove(system)
        running = running[1:] + running[:1]
    return rounds


def sustained(rounds: Iterable[Measured], system: str, bound_s: float) -> float:
    """The highest load that a server took within the bound, as it did every lower one.

    Returns:
        0 where not even the first step kept it.
    """
    kept: dict[float, bool] = {}
    for result in rounds:
        if result.system == system:
            kept[result.step] = kept.get(result.step, False) or result.within(bound_s)
    highest = 0.0
    for step in sorted(kept):
        if not kept[step]:
            break
        highest = step
    return highest


def limit_found(rounds: Sequence[Measured], system: str, bound_s: float) -> bool:
    """Whether a server was loaded until it no longer kept the bound; if not, it can take more."""
    most = max((result.step for result in rounds if result.system == system), default=0)
    return most > sustained(rounds, system, bound_s)
