import asyncio
import itertools

import pytest

from bench.tts.listeners import arrive, keep_listening, poisson
from tests.unit.bench.spoken_texts import ToneWire


def test_arrivals_do_not_know_of_each_other() -> None:
    arrivals = poisson(50.0, 100.0, seed=1)
    assert arrivals == sorted(arrivals)
    assert 0 < arrivals[0] < arrivals[-1] < 100
    gaps = [after - before for before, after in itertools.pairwise(arrivals)]
    mean_s = sum(gaps) / len(gaps)
    # Of an exponential distribution 37 % are longer than the mean.
    assert mean_s == pytest.approx(0.02, rel=0.1)
    assert sum(gap > mean_s for gap in gaps) / len(gaps) == pytest.approx(0.368, abs=0.05)


def test_arrivals_are_the_same_for_every_server() -> None:
    assert poisson(3.0, 10.0, seed=1) == poisson(3.0, 10.0, seed=1) != poisson(3.0, 10.0, seed=2)


async def test_a_slow_server_does_not_slow_the_arrivals_down() -> None:
    wire = ToneWire()
    texts = ["one", "two", "three", "four"]
    wire.held = {text: asyncio.Event() for text in texts}
    round_ = asyncio.create_task(arrive(wire, texts, rate_hz=100, settle_s=0, talk_s=0.2, seed=1))
    expected = len(poisson(100, 0.2, seed=1))
    await wire.asked_for(expected)
    assert not round_.done()
    for event in wire.held.values():
        event.set()
    heard = await round_
    assert len(heard.replies) == len(heard.lateness_s) == expected
    assert set(wire.asked[:4]) == set(texts)


async def test_who_comes_while_the_round_settles_does_not_count() -> None:
    arrivals = poisson(100, 0.2, seed=1)
    heard = await arrive(ToneWire(), ["one"], rate_hz=100, settle_s=0.1, talk_s=0.1, seed=1)
    assert len(heard.replies) == sum(at_s >= 0.1 for at_s in arrivals)
    assert len(heard.earlier) == sum(at_s < 0.1 for at_s in arrivals)


async def test_a_listener_hears_one_reply_after_the_other() -> None:
    wire = ToneWire(audio_s=0.02)
    heard = await keep_listening(wire, ["one"], streams=3, settle_s=0, talk_s=0.1, seed=1)
    replies = sorted(reply.asked_at_s for reply in heard.replies)
    assert len(replies) >= 3
    # Nobody asks before what he has is played: three at once, and no more.
    for earlier, later in zip(replies, replies[3:], strict=False):
        assert later - earlier >= 0.02


async def test_a_listener_who_is_refused_leaves() -> None:
    wire = ToneWire(failures={"one": "overloaded"})
    heard = await keep_listening(wire, ["one"], streams=2, settle_s=0, talk_s=0.1, seed=1)
    assert [reply.refused for reply in heard.replies] == [True, True]
