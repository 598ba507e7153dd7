import math
import os
from dataclasses import replace

import pytest

from bench.percentiles import Percentiles
from bench.tts.playout import Playout
from bench.tts.rounds import Span, System, at_once, run_round
from tests.unit.bench.spoken_texts import QUIET, ToneWire, heard


def playout(began_s: float, ended_s: float) -> Playout:
    return Playout(0.1, 0.1, 0.0, ended_s - began_s, (), 0.2, began_s, ended_s)


def test_replies_at_once_are_counted_within_the_round() -> None:
    played = [playout(-1, 2), playout(1, 3), playout(3, 5), playout(9, 12), playout(20, 30)]
    mean, peak = at_once(played, 0, 10)
    assert mean == pytest.approx((2 + 2 + 2 + 1) / 10)
    assert peak == 2
    assert at_once([], 0, 10) == (0.0, 0)


@pytest.mark.parametrize(
    "worse",
    [
        {"refused": 1},
        {"failed": 1},
        {"under_run_replies": 1},
        {"audible_s": None},
        {"audible_s": Percentiles(0.1, 0.6, 0.6)},
    ],
)
def test_whoever_is_not_served_well_breaks_the_round(worse: dict[str, object]) -> None:
    assert QUIET.within(0.5)
    assert not replace(QUIET, **worse).within(0.5)  # type: ignore[arg-type]


def test_what_is_never_heard_breaks_a_round_without_a_bound() -> None:
    assert heard("parley", 1, 3.0).within(math.inf)
    silent = Percentiles(0.1, math.inf, math.inf)
    assert not replace(QUIET, audible_s=silent).within(math.inf)


async def test_a_round_counts_what_came_and_what_did_not() -> None:
    wire = ToneWire(failures={"no": "overloaded", "broken": "the server hung up"})
    system = System("tone", "", wire, os.getpid())
    span = Span(settle_s=0.0, talk_s=0.3)
    result = await run_round(system, ["a", "no", "broken"], "replies per second", 50, span)
    assert result.replies == wire.asked.count("a") > 0
    assert result.refused == wire.asked.count("no")
    assert result.failed == wire.asked.count("broken")
    assert result.problems == ("overloaded", "the server hung up")
    assert result.lead_s == Percentiles(0.0, 0.0, 0.0)
    assert result.engine_rtf is None
    assert result.client_cores == 0.0
    assert result.audio_s_per_s > 0


async def test_a_round_of_listeners() -> None:
    system = System("tone", "", ToneWire(), os.getpid())
    result = await run_round(system, ["a"], "listeners", 2, Span(0.0, 0.2))
    assert (result.step, result.load_kind) == (2, "listeners")
    assert 0 < result.streams_mean <= result.streams_peak <= 2
