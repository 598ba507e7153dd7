import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import numpy.typing as npt
import pytest

from speech_server.errors import EngineFailed
from speech_server.stt.batcher import Batcher, Priority
from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.stream import StreamEvent, Transcribed, TranscriptStream
from speech_server.stt.utterance import Close, SpeechStarted
from tests.unit.speech_server.gated_engine import GatedEngine

RATE_HZ = 16_000
Pcm = npt.NDArray[np.float32]


class LoudIsSpeech:
    def probability(self, window: Pcm) -> float:
        return 0.9 if np.abs(window).max() > 0.05 else 0.02


def said(level: float, duration_s: float = 0.512) -> Pcm:
    return np.full(round(duration_s * RATE_HZ), level, dtype=np.float32)


def quiet(duration_s: float) -> Pcm:
    return np.zeros(round(duration_s * RATE_HZ), dtype=np.float32)


def hear(utterance: Utterance) -> Transcript:
    """Every level that was said, in order."""
    levels = utterance.pcm[utterance.pcm > 0.05]
    heard = [levels[0], *levels[1:][np.diff(levels) != 0]] if levels.size else []
    return Transcript(" ".join(f"{level:g}" for level in heard))


@asynccontextmanager
async def stream(
    engine: GatedEngine, **settings: float | None
) -> AsyncIterator[tuple[TranscriptStream, AsyncIterator[StreamEvent]]]:
    engine.answer = hear
    batcher = Batcher(engine, 100, clock=lambda: engine.clock_s)
    await batcher.start()
    asked = SegmenterSettings(**({"interim_interval_s": None} | settings))  # type: ignore[arg-type]
    transcripts = TranscriptStream(batcher, Segmenter(LoudIsSpeech(), asked))
    events = transcripts.events()
    try:
        yield transcripts, events
    finally:
        transcripts.cancel()
        engine.allow(1000)
        await batcher.stop()
        await events.aclose()  # type: ignore[attr-defined]


async def next_transcript(events: AsyncIterator[StreamEvent]) -> Transcribed:
    async for event in events:
        if isinstance(event, Transcribed):
            return event
    raise AssertionError("the stream ended")


async def test_a_preflight_becomes_the_final_without_decoding_again() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        await speech.push(np.concatenate((said(0.5), quiet(0.1))))
        engine.allow()
        preflight = await next_transcript(events)
        await speech.push(quiet(0.5))
        await speech.finalize()
        final = await next_transcript(events)
    assert (preflight.kind, preflight.transcript.text) == ("preflight", "0.5")
    assert (final.kind, final.transcript.text) == ("final", "0.5")
    assert final.reason is Close.FINALIZE
    assert len(engine.batches) == 1


async def test_a_preflight_still_under_way_becomes_the_final() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        await speech.push(np.concatenate((said(0.5), quiet(0.1))))
        await engine.entered()
        await speech.finalize()
        engine.allow()
        final = await next_transcript(events)
    assert (final.kind, final.transcript.text) == ("final", "0.5")
    assert len(engine.batches) == 1


async def test_speech_after_the_preflight_is_decoded_too() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        await speech.push(np.concatenate((said(0.5), quiet(0.1), said(0.25))))
        engine.allow(3)
        await speech.finalize()
        final = await next_transcript(events)
    assert (final.kind, final.transcript.text) == ("final", "0.5 0.25")


async def test_a_preflight_overtaken_by_speech_is_only_an_interim() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        await speech.push(np.concatenate((said(0.5), quiet(0.1))))
        await engine.entered()
        await speech.push(said(0.25))
        engine.allow()
        event = await next_transcript(events)
    assert (event.kind, event.transcript.text) == ("interim", "0.5")


async def test_nothing_is_said_twice_after_finalize() -> None:
    engine = GatedEngine()
    engine.allow(100)
    async with stream(engine) as (speech, events):
        await speech.push(said(0.5))
        await speech.finalize()
        await speech.finalize()
        await speech.push(said(0.25))
        await speech.finalize()
        finals = [await next_transcript(events) for _ in range(3)]
    assert [final.transcript.text for final in finals] == ["0.5", "", "0.25"]
    assert [final.reason for final in finals] == [Close.FINALIZE] * 3


async def test_finals_come_in_order_and_before_what_follows_them() -> None:
    engine = GatedEngine()
    async with stream(engine, endpointing_s=0.2) as (speech, events):
        await speech.push(np.concatenate((said(0.5), quiet(0.3), said(0.25), quiet(0.3))))
        engine.allow(10)
        await speech.end()
        seen = [event async for event in events]
    kinds = [
        event.transcript.text if isinstance(event, Transcribed) else type(event).__name__
        for event in seen
        if not (isinstance(event, Transcribed) and event.kind != "final")
    ]
    assert kinds == ["SpeechStarted", "0.5", "SpeechStarted", "0.25", ""]


async def test_interims_do_not_pile_up() -> None:
    engine = GatedEngine()
    async with stream(engine, interim_interval_s=0.1) as (speech, events):
        await speech.push(said(0.5, 0.5))
        await engine.entered()
        await speech.push(said(0.5, 3.0))
        assert speech._batcher.waiting == 1
        engine.allow()
        first = await next_transcript(events)
        assert first.kind == "interim"


async def test_a_preflight_that_speech_overtook_is_not_decoded() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        speech._batcher.submit(Utterance(said(0.9)), stream="other", priority=Priority.FINAL)
        await engine.entered()
        await speech.push(np.concatenate((said(0.5), quiet(0.1))))
        assert speech._batcher.waiting == 1
        await speech.push(said(0.25))
        assert speech._batcher.waiting == 0
        await speech.finalize()
        engine.allow(2)
        final = await next_transcript(events)
    assert (final.kind, final.transcript.text) == ("final", "0.5 0.25")
    assert len(engine.batches) == 2


async def test_a_failed_preflight_is_decoded_again_for_the_final() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        answers = iter([ValueError("once"), Transcript("again")])
        engine.answer = lambda heard: next(answers)
        await speech.push(np.concatenate((said(0.5), quiet(0.1))))
        job = next(iter(speech._jobs.values()))
        engine.allow()
        with pytest.raises(EngineFailed):
            await job
        engine.allow()
        await speech.finalize()
        final = await next_transcript(events)
    assert final.transcript.text == "again"


async def test_a_failed_final_is_told() -> None:
    engine = GatedEngine()
    engine.allow(10)
    async with stream(engine) as (speech, events):
        engine.answer = lambda heard: ValueError("broken")
        await speech.push(said(0.5))
        await speech.finalize()
        with pytest.raises(EngineFailed):
            await next_transcript(events)


async def test_cancelling_gives_waiting_work_up() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        assert events
        other = TranscriptStream(
            speech._batcher, Segmenter(LoudIsSpeech(), SegmenterSettings(interim_interval_s=None))
        )
        await speech.push(said(0.5))
        await speech.finalize()
        await engine.entered()
        await other.push(said(0.25))
        await other.finalize()
        assert speech._batcher.waiting == 1
        other.cancel()
        assert speech._batcher.waiting == 0


async def test_a_slow_reader_holds_the_sender_back() -> None:
    engine = GatedEngine()
    engine.allow(1000)
    async with stream(engine, preflight_silence_s=None) as (speech, events):
        pushing = asyncio.create_task(_many_finals(speech, 200))
        for _ in range(200):
            await asyncio.sleep(0)
        assert speech._outbox.full()
        assert not pushing.done()  # it waits for the reader
        finals = [await next_transcript(events) for _ in range(200)]
        await pushing
    assert len(finals) == 200


async def _many_finals(speech: TranscriptStream, count: int) -> None:
    for _ in range(count):
        await speech.finalize()


async def test_the_beginning_of_speech_is_told_first() -> None:
    engine = GatedEngine()
    async with stream(engine) as (speech, events):
        await speech.push(np.concatenate((quiet(0.32), said(0.5))))
        first = await anext(events)
    assert first == SpeechStarted(round(0.32 * RATE_HZ))
