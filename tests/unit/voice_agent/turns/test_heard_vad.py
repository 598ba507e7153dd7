"""The framework is told what the turn taker hears, as its own detector would tell it."""

from collections.abc import AsyncIterator, Iterable

import pytest
from livekit import rtc
from livekit.agents import vad

from tests.unit.voice_agent.turns.listening import Line
from voice_agent.turns.heard_vad import HeardVad
from voice_agent.turns.speech_activity import Heard

BEGAN = vad.VADEventType.START_OF_SPEECH
ENDED = vad.VADEventType.END_OF_SPEECH
HEARD = vad.VADEventType.INFERENCE_DONE
MIN_SILENCE_S = 0.32
"""Ten windows."""


@pytest.fixture
async def ours() -> HeardVad:
    return HeardVad(MIN_SILENCE_S)


@pytest.fixture
async def stream(ours: HeardVad) -> AsyncIterator[vad.VADStream]:
    opened = ours.stream()
    yield opened
    await opened.aclose()


async def told(
    ours: HeardVad, stream: vad.VADStream, windows: Iterable[Heard]
) -> list[vad.VADEvent]:
    """What the framework learns of some windows."""
    for heard in windows:
        ours.hear(heard)
    waiting = stream._event_ch.qsize()
    return [await anext(stream) for _ in range(waiting)]


def kinds(events: list[vad.VADEvent]) -> list[vad.VADEventType]:
    return [event.type for event in events if event.type is not HEARD]


async def test_speech_begins_and_ends_after_enough_silence(
    ours: HeardVad, stream: vad.VADStream
) -> None:
    line = Line()
    assert await told(ours, stream, line.silence(20)) == []
    assert kinds(await told(ours, stream, line.speech(20))) == [BEGAN]
    assert kinds(await told(ours, stream, line.silence(9))) == []
    (end,) = [e for e in await told(ours, stream, line.silence(1)) if e.type is ENDED]
    assert end.silence_duration == pytest.approx(MIN_SILENCE_S)
    assert end.speech_duration == pytest.approx(30 * 0.032, abs=0.04)
    assert not end.speaking
    assert await told(ours, stream, line.silence(20)) == []


async def test_a_pause_is_no_end(ours: HeardVad, stream: vad.VADStream) -> None:
    line = Line()
    await told(ours, stream, line.speech(20))
    for _ in range(3):
        events = await told(ours, stream, [*line.silence(9), *line.speech(5)])
        assert kinds(events) == []
        assert all(event.speaking for event in events)


async def test_silence_is_told_at_once(ours: HeardVad, stream: vad.VADStream) -> None:
    """The agent may speak again as soon as the caller does not."""
    line = Line()
    spoken = await told(ours, stream, line.speech(5))
    assert {event.raw_accumulated_silence for event in spoken} == {0.0}
    assert spoken[-1].raw_accumulated_speech > 0
    (pause,) = await told(ours, stream, line.silence(1))
    assert pause.raw_accumulated_silence > 0
    assert pause.raw_accumulated_speech == 0.0


async def test_a_turn_that_ended_meanwhile_leaves_nothing(
    ours: HeardVad, stream: vad.VADStream
) -> None:
    line = Line()
    await told(ours, stream, [*line.speech(20), *line.silence(3)])
    stream.flush()
    assert await told(ours, stream, line.silence(20)) == []
    assert kinds(await told(ours, stream, line.speech(5))) == [BEGAN]


async def test_the_frameworks_own_audio_is_not_heard_again(
    ours: HeardVad, stream: vad.VADStream
) -> None:
    stream.push_frame(rtc.AudioFrame.create(24_000, 1, 480))
    assert stream._input_ch.qsize() == 0


async def test_a_closed_stream_is_told_nothing(ours: HeardVad) -> None:
    closed, line = ours.stream(), Line()
    await closed.aclose()
    for heard in line.speech(5):
        ours.hear(heard)
