"""More and more callers, until finals come too late; the servers under test take turns."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from bench.stt.rounds import Round
from bench.stt.systems import System

MeasureRound = Callable[[System, int], Awaitable[Round]]


async def ramp(
    steps: Mapping[System, Sequence[int]],
    measure: MeasureRound,
    *,
    bound_s: float,
    give_up_s: float | None,
    second_chance: bool,
) -> list[Round]:
    """Measure every server at its steps until it is overloaded.

    The servers take turns, and who begins changes from step to step: what disturbs the machine
    meanwhile meets all of them.

    Args:
        steps: for each server the numbers of callers, rising.
        measure: runs one round.
        bound_s: what the 95th percentile of the final latency should keep, seconds.
        give_up_s: a server whose 95th percentile is above this is not loaded further; None: every
            step is measured.
        second_chance: repeat once the first round of a server that does not keep the bound.
    """
    rounds: list[Round] = []
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


def streams_sustained(rounds: Iterable[Round], system: str, bound_s: float) -> int:
    """The most callers that a server served within the bound, as it did at every step below.

    Returns:
        0 where not even the first step kept it.
    """
    kept: dict[int, bool] = {}
    for result in rounds:
        if result.system == system:
            kept[result.streams] = kept.get(result.streams, False) or result.within(bound_s)
    sustained = 0
    for streams in sorted(kept):
        if not kept[streams]:
            break
        sustained = streams
    return sustained


def limit_found(rounds: Sequence[Round], system: str, bound_s: float) -> bool:
    """Whether a server was loaded until it no longer kept the bound; if not, it can take more."""
    most = max((result.streams for result in rounds if result.system == system), default=0)
    return most > streams_sustained(rounds, system, bound_s)
