"""The two built-in engines, each as an engine: audio, word times, cancellation, odd text."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speech_server.errors import EngineFailed
from speech_server.tts.engine import Segment, TtsEngine, WordTime
from speech_server.tts.espeak import EspeakEngine
from speech_server.tts.flite import FliteEngine, fold_to_ascii
from speech_server.tts.normalise import normalise
from speech_server.tts.synthesis_thread import SpeechSink, SynthesisThread

ENGINES = {"flite": FliteEngine, "espeak": EspeakEngine}


@pytest.fixture(params=list(ENGINES))
async def engine(request: pytest.FixtureRequest) -> AsyncIterator[TtsEngine]:
    loaded: TtsEngine = ENGINES[request.param]()
    await loaded.load()
    yield loaded
    await loaded.close()


async def speak(engine: TtsEngine, segment: Segment) -> tuple[np.ndarray, list[WordTime]]:
    pcm, words = [np.zeros(0, dtype=np.int16)], []
    async for chunk in engine.synthesize(segment):
        pcm.append(chunk.pcm)
        words.extend(chunk.words)
    return np.concatenate(pcm), words


async def test_every_voice_speaks_and_differs(engine: TtsEngine) -> None:
    spoken = [(await speak(engine, Segment("Hello.", v.id)))[0] for v in engine.info.voices]
    for pcm in spoken:
        assert 0.2 < len(pcm) / engine.info.sample_rate_hz < 2.0
        assert np.abs(pcm.astype(int)).max() > 3_000
    assert len({pcm.tobytes() for pcm in spoken}) == len(spoken)


async def test_word_times_cover_the_words(engine: TtsEngine) -> None:
    text = "Well, Dr. Smith (from naive 15) paid $3.50 at 5 p.m."
    pcm, words = await speak(engine, Segment(text, engine.info.voices[0].id))
    assert [word.text for word in words] == text.split()
    assert all(word.start_s < word.end_s for word in words)
    starts = [word.start_s for word in words]
    assert starts == sorted(starts)
    assert words[-1].end_s <= len(pcm) / engine.info.sample_rate_hz
    # Every word is where sound is.
    for word in words:
        start, end = (round(t * engine.info.sample_rate_hz) for t in (word.start_s, word.end_s))
        assert np.abs(pcm[start:end].astype(int)).max() > 1_000


async def test_words_come_with_the_piece_they_begin_in(engine: TtsEngine) -> None:
    rate, samples = engine.info.sample_rate_hz, 0
    segment = Segment("One two three four five six seven eight.", engine.info.voices[0].id)
    async for chunk in engine.synthesize(segment):
        samples += len(chunk.pcm)
        assert all(word.start_s * rate <= samples for word in chunk.words)


async def test_speed(engine: TtsEngine) -> None:
    voice = engine.info.voices[0].id
    lengths = [
        len((await speak(engine, Segment("One two three four five.", voice, speed)))[0])
        for speed in (0.25, 0.5, 1.0, 2.0, 4.0)
    ]
    assert lengths == sorted(lengths, reverse=True)
    assert lengths[1] > 1.4 * lengths[2] > 1.4 * 1.4 * lengths[3]


async def test_the_loop_runs_and_slices_are_small(engine: TtsEngine) -> None:
    chunks = [
        chunk async for chunk in engine.synthesize(Segment("word " * 50, engine.info.voices[0].id))
    ]
    rate = engine.info.sample_rate_hz
    assert len(chunks[0].pcm) <= 0.06 * rate
    assert max(len(chunk.pcm) for chunk in chunks) <= 0.25 * rate


async def test_several_segments_at_once_do_not_mix(engine: TtsEngine) -> None:
    voices = [voice.id for voice in engine.info.voices[:2]]
    segments = [Segment("word " * (n + 1), voices[n % 2]) for n in range(8)]
    alone = [len((await speak(engine, segment))[0]) for segment in segments]
    together = await asyncio.gather(*(speak(engine, segment) for segment in segments))
    # Not to the sample: espeak rounds differently after other text.
    assert [len(pcm) for pcm, _ in together] == pytest.approx(alone, rel=0.02)
    assert [len(words) for _, words in together] == list(range(1, 9))


async def test_closing_the_reader_leaves_the_engine_ready(engine: TtsEngine) -> None:
    voice = engine.info.voices[0].id
    async with aclosing(engine.synthesize(Segment("word " * 60, voice))) as chunks:
        await anext(chunks)
    pcm, _ = await speak(engine, Segment("Hello.", voice))
    assert len(pcm) > 4_000


async def test_not_loaded_is_an_error() -> None:
    for make in ENGINES.values():
        with pytest.raises(EngineFailed, match="not loaded"):
            await speak(make(), Segment("Hello.", "slt"))


async def test_closed_is_an_error(engine: TtsEngine) -> None:
    await engine.close()
    with pytest.raises(EngineFailed, match="closed"):
        await speak(engine, Segment("Hello.", engine.info.voices[0].id))


_ODD = [
    "$",
    "%n%s",
    "9" * 40,
    "1/0",
    "'",
    '"',
    "((",
    "-",
    "3:",
    "x" * 80,
    "ß",
    "½",
    "é",
    "שלום",
    "A.B.",
]


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(_ODD) | st.text(max_size=12), min_size=1, max_size=6))
async def test_odd_text_breaks_nothing(engine: TtsEngine, pieces: list[str]) -> None:
    spoken = normalise(" ".join(pieces))
    if spoken.speakable:
        _, words = await speak(engine, Segment(spoken.text, engine.info.voices[0].id))
        assert {word.text for word in words} <= set(spoken.words)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("naïve café", "naive cafe"),
        ("Straße", "Strasse"),
        ("½", "1/2"),
        ("שלום", ""),
        ("a\nb", "a b"),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold_to_ascii(text) == folded


async def test_flite_says_nothing_of_a_script_it_cannot_read() -> None:
    engine = FliteEngine()
    await engine.load()
    pcm, _ = await speak(engine, Segment("שלום עולם", "slt"))
    assert len(pcm) == 0
    await engine.close()


async def test_espeak_does_not_obey_markup() -> None:
    engine = EspeakEngine()
    await engine.load()
    plain, _ = await speak(engine, Segment("wait", "en-us"))
    marked, _ = await speak(engine, Segment('<break time="9s"/> wait', "en-us"))
    assert len(marked) < len(plain) + 6 * engine.info.sample_rate_hz
    await engine.close()


async def test_a_failure_in_the_thread_reaches_the_reader() -> None:
    thread = SynthesisThread("test", 16_000)

    def broken(sink: SpeechSink) -> None:
        sink.write(np.ones(16_000, dtype=np.int16))
        raise ValueError("the text itself")

    chunks = thread.stream(broken)
    assert len((await anext(chunks)).pcm) == 16_000
    with pytest.raises(EngineFailed, match="test: could not speak this text"):
        await anext(chunks)
    await thread.close()


async def test_work_that_waits_is_dropped_with_its_reader() -> None:
    thread = SynthesisThread("test", 16_000)
    started, ran = asyncio.Event(), []
    loop = asyncio.get_running_loop()

    def until_cancelled(sink: SpeechSink) -> None:
        loop.call_soon_threadsafe(started.set)
        while not sink.cancelled:
            sink.write(np.ones(160, dtype=np.int16))

    first = thread.stream(until_cancelled)
    await anext(first)
    second = thread.stream(lambda sink: ran.append(sink))
    waiting = asyncio.ensure_future(anext(second))
    await started.wait()
    waiting.cancel()
    await asyncio.wait([waiting])
    await first.aclose()
    await thread.close()
    assert ran == []
