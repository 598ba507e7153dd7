"""What the simulated voice says, said beforehand."""

from collections.abc import AsyncGenerator

import numpy as np

from bench.call.answers import DISCLOSURE, GREETING, LONG_INSTRUCTIONS, reply_to
from bench.call.paced_speech import PacedEngine, replies
from bench.call.rehearsed_voice import RehearsedVoice
from speech_server.tts.engine import Segment, SpeechChunk, TtsEngineInfo, Voice, WordTime
from speech_server.tts.stream import Delivery, Reply, ReplyAudio

RATE_HZ = 24_000
SILENT_S = 0.25


class _Slow:
    """Says a tone after a silence, in two pieces, and notes what it was asked for."""

    info = TtsEngineInfo("slow", "slow", RATE_HZ, (Voice("x", "en"),), word_times=True)

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        self.asked.append(segment.text)
        word = WordTime(segment.text, SILENT_S, SILENT_S + 0.5)
        yield SpeechChunk(np.zeros(round(SILENT_S * RATE_HZ), np.int16), (word,))
        yield SpeechChunk(np.full(RATE_HZ // 2, 5000, np.int16))

    async def load(self) -> None: ...

    async def close(self) -> None: ...


async def said(voice: RehearsedVoice, text: str) -> SpeechChunk:
    (chunk,) = [chunk async for chunk in voice.synthesize(Segment(text, "x", context="before"))]
    return chunk


async def test_what_was_rehearsed_is_not_spoken_again() -> None:
    engine = _Slow()
    voice = RehearsedVoice(engine, ["I can do that. That is fine.", "No."])
    await voice.load()
    assert engine.asked == ["I can do that.", "That is fine.", "No."]
    await said(voice, "That is fine.")
    assert len(engine.asked) == 3
    # anything else is, and then known too
    await said(voice, "Perhaps.")
    await said(voice, "Perhaps.")
    assert engine.asked[3:] == ["Perhaps."]


async def test_it_begins_with_its_first_sound() -> None:
    voice = RehearsedVoice(_Slow(), ())
    chunk = await said(voice, "No.")
    silent = np.flatnonzero(chunk.pcm)[0]
    assert silent == round(0.01 * RATE_HZ)
    assert len(chunk.pcm) == silent + RATE_HZ // 2
    (word,) = chunk.words
    assert round(word.start_s, 6) == 0.01
    assert round(word.end_s, 6) == 0.51


async def test_a_reply_that_comes_token_by_token_is_known() -> None:
    engine = _Slow()
    voice = RehearsedVoice(engine, [GREETING])
    await voice.load()
    rehearsed = len(engine.asked)
    reply = Reply(voice, Delivery("x", RATE_HZ), max_chars=1000)
    for token in GREETING:
        reply.push(token)
    reply.end()
    pieces = [event.pcm async for event in reply.events() if isinstance(event, ReplyAudio)]
    await reply.aclose()
    assert np.concatenate(pieces).any()
    assert len(engine.asked) == rehearsed


async def test_paced_words_come_with_the_frame_in_which_they_begin() -> None:
    engine = PacedEngine(_Slow(), first_audio_s=0.0, speed=1000.0)
    frames = [chunk async for chunk in engine.synthesize(Segment("No.", "x"))]
    at_s = np.cumsum([0, *(len(frame.pcm) for frame in frames)]) / RATE_HZ
    ((index, word),) = [(i, word) for i, frame in enumerate(frames) for word in frame.words]
    assert at_s[index] <= word.start_s < at_s[index + 1]


def test_all_that_the_script_says_is_rehearsed() -> None:
    known = replies()
    assert len(known) == len(set(known))
    assert {DISCLOSURE, GREETING} <= set(known)
    asked = [{"role": "user", "content": "Hours?"}]
    for turns in range(1, 20):
        assert reply_to(asked * turns) in known
    assert reply_to([{"role": "system", "content": LONG_INSTRUCTIONS}]) in known
