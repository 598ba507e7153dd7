from collections.abc import Callable
from typing import Any, cast

import pytest

from bench.ramp import limit_found, ramp, sustained
from bench.stt.rounds import Round
from bench.stt.systems import System
from tests.unit.bench.measured import measured

BOUND_S = 0.5


def system(name: str) -> System:
    return System(name, "", cast(Any, None), 1)


def limited(**limits: int) -> tuple[list[tuple[str, int]], Callable[[System, int], Any]]:
    """Servers that keep the bound up to so many streams, and the order of the rounds."""
    order: list[tuple[str, int]] = []

    async def measure(asked: System, streams: int) -> Round:
        order.append((asked.name, streams))
        return measured(asked.name, streams, 0.1 if streams <= limits[asked.name] else 0.9)

    return order, measure


async def test_a_server_is_given_up_where_it_fails_and_the_others_go_on() -> None:
    order, measure = limited(a=8, b=2)
    rounds = await ramp(
        dict.fromkeys([system("a"), system("b")], (1, 2, 4, 8, 16)),
        measure,
        bound_s=BOUND_S,
        give_up_s=BOUND_S,
        second_chance=False,
    )
    assert [streams for name, streams in order if name == "a"] == [1, 2, 4, 8, 16]
    assert [streams for name, streams in order if name == "b"] == [1, 2, 4]
    assert sustained(rounds, "a", BOUND_S) == 8
    assert sustained(rounds, "b", BOUND_S) == 2
    assert limit_found(rounds, "a", BOUND_S)


async def test_beyond_the_bound_a_server_is_loaded_until_it_is_given_up() -> None:
    latencies = iter([0.1, 0.6, 1.4, 1.6])

    async def measure(asked: System, streams: int) -> Round:
        return measured(asked.name, streams, next(latencies))

    steps = {system("a"): (1, 2, 4, 8, 16)}
    rounds = await ramp(steps, measure, bound_s=BOUND_S, give_up_s=1.5, second_chance=False)
    assert [sustained(rounds, "a", bound_s) for bound_s in (0.5, 1.0, 1.5)] == [1, 2, 4]


async def test_every_step_is_measured_where_nobody_is_given_up() -> None:
    order, measure = limited(a=0, b=0)
    steps = {system("a"): (1, 2), system("b"): (4, 8, 16)}
    await ramp(steps, measure, bound_s=BOUND_S, give_up_s=None, second_chance=False)
    assert sorted(order) == [("a", 1), ("a", 2), ("b", 4), ("b", 8), ("b", 16)]


async def test_the_servers_take_turns_in_being_first() -> None:
    order, measure = limited(a=99, b=99)
    await ramp(
        dict.fromkeys([system("a"), system("b")], (1, 2, 4)),
        measure,
        bound_s=1,
        give_up_s=1,
        second_chance=False,
    )
    assert order == [("a", 1), ("b", 1), ("b", 2), ("a", 2), ("a", 4), ("b", 4)]


async def test_a_second_chance_is_given_to_each_step_until_it_is_lost_once() -> None:
    latencies = iter([0.9, 0.1, 0.9, 0.9, 0.9])

    async def measure(asked: System, streams: int) -> Round:
        return measured(asked.name, streams, next(latencies))

    steps = {system("a"): (1, 2, 4)}
    rounds = await ramp(steps, measure, bound_s=BOUND_S, give_up_s=1.0, second_chance=True)
    assert [(r.streams, r.within(BOUND_S)) for r in rounds] == [
        (1, False),
        (1, True),
        (2, False),
        (2, False),
        (4, False),
    ]
    assert sustained(rounds, "a", BOUND_S) == 1


@pytest.mark.parametrize(
    ("kept", "wanted"),
    [
        ({1: True, 2: True, 4: False}, 2),
        ({1: False}, 0),
        ({1: True, 2: False, 4: True}, 1),
        ({}, 0),
    ],
)
def test_sustained_means_at_every_step_below_too(kept: dict[int, bool], wanted: int) -> None:
    rounds = [measured("a", streams, 0.1 if ok else 0.9) for streams, ok in kept.items()]
    assert sustained(rounds, "a", BOUND_S) == wanted


def test_the_limit_was_not_found_where_the_last_round_kept_the_bound() -> None:
    assert not limit_found([measured("a", 1, 0.1)], "a", BOUND_S)
    assert not limit_found([], "a", BOUND_S)


def test_a_lost_final_breaks_the_bound() -> None:
    assert measured("a", 4, 0.1).within(BOUND_S)
    assert not measured("a", 4, 0.1, lost=1).within(BOUND_S)
    assert not measured("a", 4, float("inf")).within(BOUND_S)
