"""One reply: order, overlap, word times, limits and cancellation, with an engine made of tones."""

import asyncio
from collections.abc import AsyncGenerator, Callable

import numpy as np
import pytest

from speech_server.errors import (
    BadRequest,
    DeadlineExceeded,
    EngineFailed,
    Overloaded,
    PayloadTooLarge,
)
from speech_server.tts import stream
from speech_server.tts.engine import WordTime
from speech_server.tts.stream import Delivery, Flushed, Reply, ReplyAudio
from tests.unit.speech_server.tone_engine import RATE_HZ, WORD_SAMPLES, ToneEngine

Open = Callable[..., Reply]


@pytest.fixture
def engine() -> ToneEngine:
    return ToneEngine()


@pytest.fixture
async def opened(engine: ToneEngine) -> AsyncGenerator[Open, None]:
    replies = []

    def open_(delivery: Delivery | None = None, **options: object) -> Reply:
        arguments = {"max_chars": 100, **options}
        reply = Reply(engine, delivery or Delivery("a", RATE_HZ), **arguments)
        replies.append(reply)
        return reply

    yield open_
    for reply in replies:
        await reply.aclose()


async def drain(reply: Reply) -> tuple[np.ndarray, list[WordTime], list[int]]:
    pcm, words, flushes = [np.zeros(0, dtype=np.int16)], [], []
    async for event in reply.events():
        if isinstance(event, Flushed):
            flushes.append(event.flush_id)
        else:
            pcm.append(event.pcm)
            words.extend(event.words)
    return np.concatenate(pcm), words, flushes


async def test_segments_are_spoken_in_order(opened: Open, engine: ToneEngine) -> None:
    reply = opened()
    for token in ("One ", "two. ", "Three", " four. Five"):
        reply.push(token)
    reply.end()
    pcm, words, _ = await drain(reply)
    assert [segment.text for segment in engine.segments] == ["One two.", "Three four.", "Five"]
    assert engine.segments[1].context == "One two."
    levels = [level for level in dict.fromkeys(pcm.tolist()) if level]
    assert levels == [1_001, 1_002, 1_003]
    assert [word.text for word in words] == ["One", "two.", "Three", "four.", "Five"]


async def test_word_times_are_those_of_the_reply(opened: Open) -> None:
    reply = opened()
    reply.push("One two. Three.")
    reply.end()
    pcm, words, _ = await drain(reply)
    for word, level in zip(words, (1_001, 1_001, 1_002), strict=True):
        piece = pcm[round(word.start_s * RATE_HZ) : round(word.end_s * RATE_HZ)]
        assert len(piece) == WORD_SAMPLES
        assert set(piece.tolist()) == {level}


async def test_leading_silence_is_cut(opened: Open) -> None:
    reply = opened()
    reply.push("One.")
    reply.end()
    pcm, _, _ = await drain(reply)
    assert int(np.flatnonzero(pcm)[0]) == 160


async def test_nothing_to_say(opened: Open, engine: ToneEngine) -> None:
    reply = opened()
    for text in ("", " ", "...", "😀 ", "<|im_end|>"):
        reply.push(text)
    reply.flush()
    reply.end()
    pcm, words, flushes = await drain(reply)
    assert (len(pcm), words, flushes, engine.segments) == (0, [], [1], [])


async def test_flush_marks_come_after_their_audio(opened: Open) -> None:
    reply = opened()
    reply.push("One two")
    reply.flush()
    reply.push("three")
    reply.flush()
    reply.end()
    kinds = [
        event.flush_id if isinstance(event, Flushed) else "audio" async for event in reply.events()
    ]
    assert kinds[-1] == 2
    assert kinds.index(1) > kinds.index("audio")
    assert "audio" in kinds[kinds.index(1) :]


async def test_volume_speed_and_rate(opened: Open, engine: ToneEngine) -> None:
    reply = opened(Delivery("a", 48_000, speed=1.5, volume=2.0))
    reply.push("One two three four.")
    reply.end()
    pcm, _, _ = await drain(reply)
    assert engine.segments[0].speed == 1.5
    assert abs(int(np.median(pcm[pcm > 1_500])) - 2 * 1_001) <= 2
    assert len(pcm) == pytest.approx(3 * (160 + 4 * WORD_SAMPLES + 3_200), abs=3)


async def test_volume_clips_and_does_not_wrap(opened: Open, engine: ToneEngine) -> None:
    reply = opened(Delivery("a", RATE_HZ, volume=100.0))
    reply.push("One.")
    reply.end()
    pcm, _, _ = await drain(reply)
    assert pcm.min() == 0
    assert pcm.max() == 32_767


async def test_pieces_are_short(opened: Open) -> None:
    reply = opened()
    reply.push("a b c d e f g h i j k l m n o p")
    reply.end()
    async for event in reply.events():
        assert isinstance(event, ReplyAudio)
        assert len(event.pcm) <= 0.2 * RATE_HZ


async def test_text_without_an_end_is_spoken_after_a_while(opened: Open) -> None:
    reply = opened(max_buffer_delay_s=0.01)
    reply.push("One two")
    event = await anext(reply.events())
    assert isinstance(event, ReplyAudio)


async def test_no_delay_speaks_every_text_as_it_is(opened: Open, engine: ToneEngine) -> None:
    reply = opened(max_buffer_delay_s=0)
    reply.push("One, two")
    reply.push("three")
    reply.end()
    await drain(reply)
    assert [segment.text for segment in engine.segments] == ["One, two", "three"]


async def test_limits_of_text(opened: Open, engine: ToneEngine) -> None:
    reply = opened(max_chars=10)
    reply.push("123456789")
    with pytest.raises(PayloadTooLarge, match="limited to 10 characters, this is 11"):
        reply.push("ab")
    reply.push("a")  # what was refused has not been counted
    reply.end()
    with pytest.raises(BadRequest, match="no text may follow"):
        reply.push("b")
    await drain(reply)
    assert [segment.text for segment in engine.segments] == ["123456789a"]


async def test_flushes_are_bounded(opened: Open, engine: ToneEngine) -> None:
    engine.gate.clear()
    reply = opened()
    for _ in range(1_024):
        reply.flush()
    with pytest.raises(Overloaded, match="too many flushes"):
        reply.flush()


async def test_a_reader_that_waits_stops_the_engine(opened: Open, engine: ToneEngine) -> None:
    reply = opened(max_chars=10_000)
    reply.push("word. " * 500)
    reply.end()
    events = reply.events()
    await anext(events)
    for _ in range(2_000):
        await asyncio.sleep(0)
    assert 1 < len(engine.segments) < 50  # ahead of the reader, by a bounded amount
    pcm = sum([len(event.pcm) async for event in events if isinstance(event, ReplyAudio)])
    assert pcm > 490 * WORD_SAMPLES


async def test_closing_stops_the_engine(opened: Open, engine: ToneEngine) -> None:
    engine.gate.clear()
    reply = opened()
    reply.push("One. Two.")
    await engine.begun.wait()
    await reply.aclose()
    await reply.aclose()
    assert engine.closed == len(engine.segments) == 1


@pytest.mark.parametrize("failure", [EngineFailed("it broke"), RuntimeError("secret text")])
async def test_a_broken_engine_is_told(
    opened: Open, engine: ToneEngine, failure: Exception
) -> None:
    engine.failure = failure
    reply = opened()
    reply.push("One.")
    reply.end()
    with pytest.raises(EngineFailed) as told:
        await drain(reply)
    assert "secret" not in told.value.message
    assert engine.closed == 1


async def test_a_reply_without_text_is_given_up(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "TEXT_IDLE_S", 0.01)
    with pytest.raises(DeadlineExceeded, match="no text came"):
        await drain(opened())
