"""When much work waits: a live caller's final is never refused because of somebody else."""

import asyncio

import numpy as np
import pytest

from speech_server.settings import SpeechServerSettings
from speech_server.stt import file_transcriber
from speech_server.stt.batcher import Job, Priority
from speech_server.stt.engine import Pcm, Transcript, Utterance
from speech_server.stt.file_transcriber import FileTranscriber
from speech_server.stt.recogniser import Recogniser
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.stream import Transcribed, TranscriptStream
from tests.unit.speech_server.gated_engine import GatedEngine
from tests.unit.speech_server.numbered_audio import (
    LOUD,
    QUIET,
    CountingEngine,
    LevelIsSpeech,
    numbered,
)
from tests.unit.speech_server.stepped_loop import SteppedLoop, stepped_batcher

PLACES = 4
SENTENCES = 40


@pytest.fixture(autouse=True)
def level_is_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_transcriber, "SileroVoiceActivity", LevelIsSpeech)


@pytest.fixture
def engine() -> GatedEngine:
    engine = GatedEngine(max_batch_size=2)
    engine.answer = lambda _: Transcript("heard")
    return engine


@pytest.fixture
async def recogniser(engine: GatedEngine) -> Recogniser:
    recogniser = Recogniser(engine, SpeechServerSettings(stt_capacity_streams=PLACES))
    await recogniser.start()
    return recogniser


def sentences(count: int) -> Pcm:
    """Each with a pause behind it that ends it, on any wire."""
    one = np.concatenate((numbered(LOUD, 0, 4_096), numbered(QUIET, 4_096, 9_728)))
    return np.tile(one, count)


async def transcribed(files: FileTranscriber, pcm: Pcm) -> int:
    return len([segment async for segment in files.segments(pcm)])


async def test_as_many_files_as_there_are_places_are_all_transcribed(
    engine: GatedEngine, recogniser: Recogniser
) -> None:
    files = FileTranscriber(recogniser)
    at_work = [asyncio.create_task(transcribed(files, sentences(12))) for _ in range(PLACES)]
    await engine.entered()
    engine.allow(10_000)
    assert await asyncio.gather(*at_work) == [12] * PLACES
    await recogniser.stop()


def stream(recogniser: Recogniser) -> TranscriptStream:
    asked = SegmenterSettings(interim_interval_s=None, endpointing_s=0.5)
    return TranscriptStream(recogniser.batcher, Segmenter(LevelIsSpeech(), asked))


async def test_a_sender_faster_than_the_engine_loses_nothing_and_takes_nobodys_place(
    engine: GatedEngine, recogniser: Recogniser
) -> None:
    fast, other = stream(recogniser), stream(recogniser)

    async def send() -> None:
        await fast.push(sentences(SENTENCES))
        await fast.end()

    sending = asyncio.create_task(send())
    try:
        await engine.entered()
        for _ in range(1_000):  # as far as it gets while the engine is busy
            await asyncio.sleep(0)
        await other.push(sentences(1)[:6_000])
        await other.finalize()
        engine.allow(10_000)
        heard = [event async for event in fast.events() if isinstance(event, Transcribed)]
        finals = [event for event in heard if event.kind == "final" and event.transcript.text]
        await sending
        assert len(finals) == SENTENCES
    finally:
        sending.cancel()
        engine.allow(10_000)
        await asyncio.gather(sending, return_exceptions=True)
        fast.cancel()
        other.cancel()
        await recogniser.stop()


async def test_a_server_that_stops_leaves_no_unheard_error(
    engine: GatedEngine, recogniser: Recogniser
) -> None:
    unheard: list[str] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: unheard.append(str(context)))
    busy = recogniser.batcher.submit(
        Utterance(np.zeros(160, np.float32)), stream="busy", priority=Priority.FINAL
    )
    await engine.entered()
    speech = stream(recogniser)
    await speech.push(sentences(1)[:6_000])
    assert recogniser.batcher.waiting == 1
    engine.allow(10_000)
    await recogniser.stop()
    await busy
    await asyncio.sleep(0)
    assert not speech._deliveries
    assert unheard == []


async def test_a_stream_that_waits_for_itself_does_not_close_the_server(
    engine: GatedEngine,
) -> None:
    engine.call_s = 0.3
    settings = SpeechServerSettings(stt_capacity_streams=PLACES)
    recogniser = Recogniser(engine, settings, clock=lambda: engine.clock_s)
    await recogniser.start()
    engine.allow(10_000)
    audio = Utterance(np.zeros(160, np.float32))
    fast = [
        recogniser.batcher.submit(audio, stream="fast", priority=Priority.FINAL) for _ in range(12)
    ]
    for job in fast:
        await job
    try:
        with recogniser.admit():  # nothing waits and nobody else has waited
            pass
    finally:
        await recogniser.stop()


def test_an_interim_that_becomes_a_final_waits_no_longer() -> None:
    loop = SteppedLoop()
    engine = CountingEngine()
    batcher, worker = stepped_batcher(loop, engine, max_waiting=10)

    async def submit(priority: Priority) -> Job:
        utterance = Utterance(numbered(LOUD, 0, 1_600))
        return batcher.submit(utterance, stream="a", priority=priority)

    try:
        loop.finish(submit(Priority.INTERIM))
        loop.pass_time(0.1)
        worker.end_call()
        interim = loop.finish(submit(Priority.INTERIM))
        assert not worker.busy  # interims have had their share of the engine
        interim.promote(Priority.FINAL)
        loop.settle()
        assert worker.busy
    finally:
        loop.pass_time(100.0)
        worker.end_call()
        stopping = loop.create_task(batcher.stop())
        while not stopping.done():
            loop.settle()
            if worker.busy:
                worker.end_call()
        loop.close()
