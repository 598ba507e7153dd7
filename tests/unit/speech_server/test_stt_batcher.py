import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from speech_server.errors import EngineFailed, Overloaded, ShuttingDown
from speech_server.metrics import DROPPED
from speech_server.stt.batcher import Batcher, Job, Priority, Superseded
from speech_server.stt.engine import Transcript, Utterance
from tests.unit.speech_server.gated_engine import GatedEngine, utterance

FINAL, PREFLIGHT, INTERIM, FILE = Priority


@asynccontextmanager
async def running(
    engine: GatedEngine, max_waiting: int = 100, clock: Callable[[], float] = time.monotonic
) -> AsyncIterator[Batcher]:
    batcher = Batcher(engine, max_waiting, clock)
    await batcher.start()
    try:
        yield batcher
    finally:
        engine.allow(1000)
        await batcher.stop()


async def busy(batcher: Batcher, engine: GatedEngine) -> Job:
    """Put the engine to work on 0, so that whatever is submitted next has to wait."""
    job = batcher.submit(utterance(0), stream="busy", priority=FINAL)
    await engine.entered()
    return job


def dropped(reason: str) -> float:
    return DROPPED.labels("stt", reason)._value.get()


async def test_a_transcript_comes_back() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        engine.allow()
        assert (await batcher.submit(utterance(7), stream="a", priority=FINAL)).text == "7"


async def test_everything_runs_in_one_worker_thread() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        engine.allow(2)
        await batcher.submit(utterance(1), stream="a", priority=FINAL)
        await batcher.submit(utterance(2), stream="b", priority=FINAL)
    assert engine.closed
    assert len(engine.threads) == 1


async def test_what_waits_is_taken_at_once_as_one_batch() -> None:
    engine = GatedEngine(max_batch_size=3)
    async with running(engine) as batcher:
        await busy(batcher, engine)
        jobs = [batcher.submit(utterance(n), stream=n, priority=FINAL) for n in (1, 2, 3, 4)]
        engine.allow(3)
        assert [(await job).text for job in jobs] == ["1", "2", "3", "4"]
    assert engine.batches == [[0], [1, 2, 3], [4]]


async def test_urgent_work_goes_first() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        await busy(batcher, engine)
        jobs = [
            batcher.submit(utterance(number), stream=number, priority=priority)
            for number, priority in ((1, FILE), (2, INTERIM), (3, PREFLIGHT), (4, FINAL))
        ]
        engine.allow(5)
        for job in jobs:
            await job
    assert engine.batches == [[0], [4], [3], [2], [1]]


async def test_streams_take_turns() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        await busy(batcher, engine)
        order = (("greedy", 1), ("greedy", 2), ("greedy", 3), ("modest", 4))
        jobs = [batcher.submit(utterance(n), stream=s, priority=FILE) for s, n in order]
        engine.allow(5)
        for job in jobs:
            await job
    assert engine.batches == [[0], [1], [4], [2], [3]]


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        (INTERIM, INTERIM, True),
        (INTERIM, PREFLIGHT, True),
        (INTERIM, FINAL, True),
        (PREFLIGHT, PREFLIGHT, True),
        (PREFLIGHT, FINAL, True),
        (PREFLIGHT, INTERIM, False),
        (FINAL, FINAL, False),
        (FILE, FILE, False),
    ],
)
async def test_newer_work_of_a_stream_replaces_what_it_makes_pointless(
    old: Priority, new: Priority, replaced: bool
) -> None:
    engine = GatedEngine()
    before = dropped("stale")
    async with running(engine) as batcher:
        await busy(batcher, engine)
        first = batcher.submit(utterance(1), stream="a", priority=old)
        second = batcher.submit(utterance(2), stream="a", priority=new)
        engine.allow(3)
        assert (await second).text == "2"
        if replaced:
            with pytest.raises(Superseded):
                await first
        else:
            assert (await first).text == "1"
    assert ([1] in engine.batches) is not replaced
    assert dropped("stale") - before == replaced


async def test_other_streams_are_not_replaced() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        await busy(batcher, engine)
        first = batcher.submit(utterance(1), stream="a", priority=INTERIM)
        batcher.submit(utterance(2), stream="b", priority=FINAL)
        engine.allow(3)
        assert (await first).text == "1"


async def test_cancelled_work_never_runs() -> None:
    engine = GatedEngine()
    before = dropped("cancelled")
    async with running(engine) as batcher:
        running_job = await busy(batcher, engine)
        waiting = batcher.submit(utterance(1), stream="a", priority=FINAL)
        after = batcher.submit(utterance(2), stream="b", priority=FINAL)
        waiting.cancel()
        running_job.cancel()  # too late to stop, early enough to drop its result
        engine.allow(2)
        await after
        assert batcher.waiting == 0
    assert engine.batches == [[0], [2]]
    assert dropped("cancelled") - before == 2


async def test_promoted_work_overtakes() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        await busy(batcher, engine)
        first = batcher.submit(utterance(1), stream="a", priority=FINAL)
        second = batcher.submit(utterance(2), stream="b", priority=PREFLIGHT)
        third = batcher.submit(utterance(3), stream="c", priority=INTERIM)
        third.promote(FINAL)
        third.promote(FILE)  # never demoted
        engine.allow(4)
        for job in (first, second, third):
            await job
    assert engine.batches == [[0], [1], [3], [2]]


async def test_promoted_work_is_not_replaced_any_more() -> None:
    engine = GatedEngine()
    async with running(engine) as batcher:
        await busy(batcher, engine)
        first = batcher.submit(utterance(1), stream="a", priority=PREFLIGHT)
        first.promote(FINAL)
        batcher.submit(utterance(2), stream="a", priority=PREFLIGHT)
        engine.allow(3)
        assert (await first).text == "1"


async def test_too_much_work_is_refused_and_speculation_gives_way() -> None:
    engine = GatedEngine()
    async with running(engine, max_waiting=2) as batcher:
        await busy(batcher, engine)
        interim = batcher.submit(utterance(1), stream="a", priority=INTERIM)
        batcher.submit(utterance(2), stream="b", priority=FINAL)
        with pytest.raises(Overloaded):
            batcher.submit(utterance(3), stream="c", priority=INTERIM)
        batcher.submit(utterance(4), stream="d", priority=FINAL)
        with pytest.raises(Superseded):
            await interim
        with pytest.raises(Overloaded):
            batcher.submit(utterance(5), stream="e", priority=FINAL)
        assert batcher.waiting == 2


async def test_one_failing_utterance_fails_alone() -> None:
    engine = GatedEngine(max_batch_size=3)
    engine.answer = lambda heard: (
        ValueError("broken audio") if heard.pcm[0] == 2 else Transcript(f"{heard.pcm[0]:g}")
    )
    async with running(engine) as batcher:
        await busy(batcher, engine)
        jobs = [batcher.submit(utterance(n), stream=n, priority=FINAL) for n in (1, 2, 3)]
        engine.allow(2)
        assert (await jobs[0]).text == "1"
        with pytest.raises(EngineFailed) as failure:
            await jobs[1]
        assert "broken audio" not in failure.value.message
        assert (await jobs[2]).text == "3"


async def test_a_batch_that_breaks_as_a_whole_is_tried_one_by_one() -> None:
    engine = GatedEngine(max_batch_size=3)

    def answer(heard: Utterance) -> Transcript:
        if heard.pcm[0] == 2:
            raise RuntimeError("the engine broke")
        return Transcript(f"{heard.pcm[0]:g}")

    engine.answer = answer
    async with running(engine) as batcher:
        await busy(batcher, engine)
        jobs = [batcher.submit(utterance(n), stream=n, priority=FINAL) for n in (1, 2, 3)]
        engine.allow(5)
        assert (await jobs[0]).text == "1"
        with pytest.raises(EngineFailed):
            await jobs[1]
        assert (await jobs[2]).text == "3"
    assert engine.batches == [[0], [1, 2, 3], [1], [2], [3]]


async def test_stopping_refuses_what_waits_and_finishes_what_runs() -> None:
    engine = GatedEngine()
    batcher = Batcher(engine, 10)
    await batcher.start()
    runs = await busy(batcher, engine)
    waits = batcher.submit(utterance(1), stream="a", priority=FINAL)
    engine.allow()
    await batcher.stop()
    assert (await runs).text == "0"
    with pytest.raises(ShuttingDown):
        await waits
    with pytest.raises(ShuttingDown):
        batcher.submit(utterance(2), stream="a", priority=FINAL)


async def test_an_engine_that_cannot_load_says_so() -> None:
    engine = GatedEngine()

    def load() -> None:
        raise FileNotFoundError("no model there")

    engine.load = load  # type: ignore[method-assign]
    batcher = Batcher(engine, 10)
    with pytest.raises(FileNotFoundError):
        await batcher.start()
    await batcher.stop()
    assert engine.closed


async def test_interims_that_wait_for_spare_time_share_a_call() -> None:
    engine = GatedEngine(max_batch_size=8)
    engine.call_s = 0.1  # for which interims then rest 0.9 s
    engine.allow(100)
    async with running(engine, clock=lambda: engine.clock_s) as batcher:
        await batcher.submit(utterance(1, 16_000), stream="a", priority=INTERIM)
        waiting = [batcher.submit(utterance(n, 160), stream=n, priority=INTERIM) for n in (2, 3, 4)]
        await batcher.submit(utterance(9, 16_000), stream="z", priority=FINAL)
        assert not any(job.done for job in waiting)
        engine.clock_s = 1.0
        await batcher.submit(utterance(5, 160), stream=5, priority=INTERIM)
        assert [(await job).text for job in waiting] == ["2", "3", "4"]
    assert engine.batches == [[1], [9], [2, 3, 4, 5]]


async def test_interims_and_files_never_lengthen_the_call_of_a_final() -> None:
    engine = GatedEngine(max_batch_size=8)
    async with running(engine) as batcher:
        await busy(batcher, engine)
        jobs = [
            batcher.submit(utterance(number), stream=number, priority=priority)
            for number, priority in ((1, FILE), (2, INTERIM), (3, FINAL), (4, INTERIM), (5, FILE))
        ]
        engine.allow(100)
        for job in jobs:
            await job
    assert engine.batches == [[0], [3], [2, 4], [1, 5]]


async def test_an_interim_too_long_for_any_call_is_dropped() -> None:
    engine = GatedEngine()
    engine.call_s = 0.3
    engine.allow(100)
    async with running(engine, clock=lambda: engine.clock_s) as batcher:
        await batcher.submit(utterance(1, 16_000), stream="a", priority=FINAL)
        with pytest.raises(Superseded):
            await batcher.submit(utterance(2, 16_000), stream="a", priority=INTERIM)
        assert batcher.waiting == 0
    assert engine.batches == [[1]]


async def test_a_call_for_files_is_short_but_holds_one_piece_in_any_case() -> None:
    engine = GatedEngine(max_batch_size=8)
    engine.call_s = 0.2
    engine.allow(100)
    async with running(engine, clock=lambda: engine.clock_s) as batcher:
        await batcher.submit(utterance(1, 16_000), stream="a", priority=FILE)
        pieces = ((2, 16_000), (3, 16_000), (4, 16_000), (5, 80_000))
        jobs = [
            batcher.submit(utterance(n, samples), stream="a", priority=FILE)
            for n, samples in pieces
        ]
        for job in jobs:
            await job
    assert engine.batches == [[1], [2, 3], [4], [5]]
