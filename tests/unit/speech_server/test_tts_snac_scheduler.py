import asyncio
import threading
from collections.abc import AsyncIterator, Sequence

import numpy as np
import pytest

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed, Overloaded
from speech_server.tts.orpheus_codes import codes_of
from speech_server.tts.snac_scheduler import WindowScheduler
from speech_server.tts.snac_stream import Window
from tests.unit.speech_server.toy_codec import loud_frames, toy_decode


class GatedDecoder:
    """Decodes when it is let; notes the batches."""

    def __init__(self, max_batch: int) -> None:
        self.max_batch = max_batch
        self.batches: list[list[Window]] = []
        self.failure: Exception | None = None
        self.may_go = threading.Semaphore(0)
        self.entered = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def decode(self, window: Window) -> PcmFloat:
        return self.decode_batch([window])[0]

    def decode_batch(self, windows: Sequence[Window]) -> list[PcmFloat]:
        self.batches.append(list(windows))
        self._loop.call_soon_threadsafe(self.entered.set)
        self.may_go.acquire()
        if self.failure is not None:
            raise self.failure
        return [toy_decode(window) for window in windows]

    def let_go(self, times: int = 1_000) -> None:
        self.may_go.release(times)


def window(frames: int, seed: int = 0) -> Window:
    return Window(codes_of(loud_frames(frames, seed)))


@pytest.fixture
async def decoder() -> GatedDecoder:
    return GatedDecoder(max_batch=1)


@pytest.fixture
async def scheduler(decoder: GatedDecoder) -> AsyncIterator[WindowScheduler]:
    scheduler = WindowScheduler(decoder, max_waiting=8)
    yield scheduler
    decoder.let_go()
    await scheduler.close()


async def enqueue(scheduler: WindowScheduler, asked: Window, due_s: float) -> asyncio.Task:
    """A caller who waits from now on."""
    task = asyncio.create_task(scheduler.decode(asked, due_s))
    await asyncio.sleep(0)
    return task


async def busy(scheduler: WindowScheduler, decoder: GatedDecoder) -> asyncio.Task:
    """A window in work, so that others have to wait."""
    task = await enqueue(scheduler, window(1), 0.0)
    await decoder.entered.wait()
    return task


async def test_everybody_gets_his_own_audio(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    decoder.let_go()
    windows = [window(1 + seed % 3, seed) for seed in range(7)]
    heard = await asyncio.gather(*(scheduler.decode(asked, 1.0) for asked in windows))
    for asked, audio in zip(windows, heard, strict=True):
        assert np.array_equal(audio, toy_decode(asked))


async def test_the_first_to_run_out_is_served_first(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    waiting = [await busy(scheduler, decoder)]
    asked = {due_s: window(2, seed=int(due_s)) for due_s in (5.0, 3.0, 4.0)}
    waiting += [await enqueue(scheduler, each, due_s) for due_s, each in asked.items()]
    decoder.let_go()
    await asyncio.gather(*waiting)
    assert [batch[0] for batch in decoder.batches[1:]] == [asked[3.0], asked[4.0], asked[5.0]]


async def test_on_a_gpu_those_of_equal_shape_go_together() -> None:
    decoder = GatedDecoder(max_batch=3)
    scheduler = WindowScheduler(decoder)
    waiting = [await busy(scheduler, decoder)]
    order = [(2, 9.0), (4, 2.0), (2, 1.0), (2, 3.0), (2, 8.0), (4, 7.0)]
    waiting += [await enqueue(scheduler, window(size), due_s) for size, due_s in order]
    decoder.let_go()
    await asyncio.gather(*waiting)
    assert [[len(each.codes) for each in batch] for batch in decoder.batches[1:]] == [
        [2, 2, 2],
        [4, 4],
        [2],
    ]
    await scheduler.close()


async def test_who_has_gone_is_not_decoded_for(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    first = await busy(scheduler, decoder)
    gone = await enqueue(scheduler, window(2), 1.0)
    last = await enqueue(scheduler, window(3), 2.0)
    gone.cancel()
    decoder.let_go()
    await asyncio.gather(first, last)
    assert gone.cancelled()
    assert [len(batch[0].codes) for batch in decoder.batches] == [1, 3]


async def test_who_goes_while_his_window_is_decoded_harms_nobody(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    gone = await busy(scheduler, decoder)
    last = await enqueue(scheduler, window(3), 2.0)
    gone.cancel()
    decoder.let_go()
    assert len(await last)
    assert gone.cancelled()


async def test_beyond_its_bound_it_refuses(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    waiting = [await busy(scheduler, decoder)]
    waiting += [await enqueue(scheduler, window(1), 1.0) for _ in range(8)]
    with pytest.raises(Overloaded):
        await scheduler.decode(window(1), 0.0)
    decoder.let_go()
    assert len(await asyncio.gather(*waiting)) == 9


@pytest.mark.parametrize("failure", [EngineFailed("SNAC: broken"), MemoryError("none left")])
async def test_a_failure_is_told_and_the_next_window_is_decoded(
    scheduler: WindowScheduler, decoder: GatedDecoder, failure: Exception
) -> None:
    decoder.failure = failure
    decoder.let_go()
    with pytest.raises(EngineFailed):
        await scheduler.decode(window(1), 1.0)
    decoder.failure = None
    assert len(await scheduler.decode(window(1), 1.0))


async def test_a_malformed_window_never_reaches_a_batch(
    scheduler: WindowScheduler, decoder: GatedDecoder
) -> None:
    with pytest.raises(EngineFailed, match="no frame"):
        await scheduler.decode(Window(codes_of([])), 1.0)
    assert decoder.batches == []


async def test_closing_ends_what_is_in_work_and_fails_what_waits(decoder: GatedDecoder) -> None:
    scheduler = WindowScheduler(decoder)
    first = await busy(scheduler, decoder)
    waits = await enqueue(scheduler, window(2), 1.0)
    closing = asyncio.create_task(scheduler.close())
    await asyncio.sleep(0)
    decoder.let_go()
    await closing
    assert len(await first)
    with pytest.raises(EngineFailed, match="closed"):
        await waits
    with pytest.raises(EngineFailed, match="closed"):
        await scheduler.decode(window(1), 1.0)
