"""Word times of the Orpheus engine: how they come with the audio."""

from itertools import pairwise

import pytest

from speech_server.tts.engine import Segment
from speech_server.tts.orpheus_codes import END_OF_SPEECH_ID, FRAME_SAMPLES, SAMPLE_RATE_HZ
from tests.unit.speech_server.fake_voice import chunks_of, engine_of, said, silent_frame


async def test_all_are_told_in_order_within_the_audio() -> None:
    engine, _ = engine_of(said(*range(1, 30)))
    text = "Well, all of this is said, and nothing else."
    sent, words = 0, []
    for chunk in await chunks_of(engine, Segment(text, "tara")):
        sent += len(chunk.pcm)
        assert all(word.end_s <= sent / SAMPLE_RATE_HZ for word in chunk.words)
        words += chunk.words
    assert [word.text for word in words] == text.split()
    assert words[0].start_s == 0.0
    assert all(word.start_s <= word.end_s for word in words)
    assert all(a.end_s <= b.start_s for a, b in pairwise(words))
    assert words[-1].end_s == pytest.approx(29 * FRAME_SAMPLES / SAMPLE_RATE_HZ, abs=0.02)


async def test_they_come_while_it_speaks() -> None:
    engine, _ = engine_of(said(*range(1, 30)))
    chunks = await chunks_of(engine, Segment("All of this is said without a pause.", "tara"))
    assert sum(len(chunk.words) for chunk in chunks[:-1]) >= 4


async def test_the_voice_s_own_pace_is_learnt() -> None:
    engine, _ = engine_of(said(*range(1, 60)))
    segment = Segment("All of this is said very slowly today.", "tara")
    ends = []
    for _ in range(3):
        chunks = await chunks_of(engine, segment)
        ends.append(next(chunk.words[0].end_s for chunk in chunks if chunk.words))
    assert ends[0] < ends[1] < ends[2]


async def test_faster_speech_is_no_faster_voice() -> None:
    engine, _ = engine_of(said(*range(1, 30)))
    pace = engine._voices["tara"].pace
    await chunks_of(engine, Segment("All of this is said without a pause.", "tara"))
    slow = pace.letter_s
    await chunks_of(engine, Segment("All of this is said without a pause.", "tara", speed=2.0))
    known = pace.letters
    assert known > 40
    assert pace.letter_s == pytest.approx(slow, rel=0.25)


async def test_none_are_told_of_a_segment_without_a_sound() -> None:
    engine, _ = engine_of([*silent_frame(1), *silent_frame(2), END_OF_SPEECH_ID])
    assert [chunk.words for chunk in await chunks_of(engine, Segment("Yes.", "tara"))] == [()]
