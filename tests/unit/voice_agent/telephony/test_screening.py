import asyncio
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from livekit import rtc
from livekit.agents import UserInputTranscribedEvent, UserStateChangedEvent

from tests.unit.voice_agent.telephony.rooms import Room, Session, participant
from tests.unit.voice_agent.telephony.test_beep import silence, tone
from voice_agent.telephony import answer, answer_watch, screening
from voice_agent.telephony.call_outcome import OUTCOME_ATTRIBUTE
from voice_agent.telephony.screening import Screening

MESSAGE = "Please call us back."


class Line:
    """What the callee's track carries; stands in for `rtc.AudioStream`."""

    def __init__(self) -> None:
        self.audio: asyncio.Queue[Any] = asyncio.Queue()
        self.closed = False

    def from_track(self, **_: Any) -> "Line":
        return self

    def __aiter__(self) -> "Line":
        return self

    async def __anext__(self) -> Any:
        return await self.audio.get()

    async def aclose(self) -> None:
        self.closed = True

    def play(self, pcm: np.ndarray) -> None:
        frame = rtc.AudioFrame(pcm.tobytes(), 8000, 1, len(pcm))
        self.audio.put_nowait(SimpleNamespace(frame=frame))


class Bench:
    def __init__(self, line: Line, message: str | None = MESSAGE) -> None:
        callee = participant("callee")
        track = SimpleNamespace(kind=rtc.TrackKind.KIND_AUDIO, track=object())
        callee.track_publications = {"TR": track}
        self.line = line
        self.room = Room(callee)
        self.session = Session()
        self.over = asyncio.Event()
        session: Any = self.session
        room: Any = self.room
        self.screening = Screening(session, room, callee, message, self.over.set)

    def says(self, text: str, *, ends: bool = True) -> None:
        self.session.emit(
            "user_state_changed", UserStateChangedEvent(old_state="listening", new_state="speaking")
        )
        self.session.emit(
            "user_input_transcribed", UserInputTranscribedEvent(transcript=text, is_final=True)
        )
        if ends:
            self.session.emit(
                "user_state_changed",
                UserStateChangedEvent(old_state="speaking", new_state="listening"),
            )


@pytest.fixture
def line(monkeypatch: pytest.MonkeyPatch) -> Line:
    line = Line()
    monkeypatch.setattr(answer_watch.rtc, "AudioStream", line)
    monkeypatch.setattr(answer_watch, "_TICK_S", 0.0)
    monkeypatch.setattr(answer, "WAITING_S", 0.0)
    return line


@pytest.fixture
async def bench(line: Line) -> Any:
    bench = Bench(line)
    yield bench
    await bench.screening.aclose()
    assert line.closed


async def begin(bench: Bench) -> "asyncio.Task[bool]":
    deciding = asyncio.create_task(bench.screening.finds_a_person())
    await asyncio.sleep(0)
    assert bench.screening.is_open
    return deciding


async def test_a_person_is_greeted(bench: Bench) -> None:
    deciding = await begin(bench)
    bench.says("Hello?")
    assert await asyncio.wait_for(deciding, 5) is True
    assert not bench.screening.is_open
    assert bench.room.local_participant.attributes == {}


async def test_a_machine_gets_the_message_after_its_beep(bench: Bench) -> None:
    deciding = await begin(bench)
    bench.says("Hi, this is Anna, leave a message after the tone.", ends=False)
    await asyncio.sleep(0)
    assert bench.session.said == []
    bench.line.play(np.concatenate((tone(1000, seconds=0.5), silence(0.3))))
    assert await asyncio.wait_for(deciding, 5) is False
    assert bench.session.said == [MESSAGE]
    assert bench.over.is_set()
    assert bench.room.local_participant.attributes == {OUTCOME_ATTRIBUTE: "voicemail"}


async def test_without_a_message_we_hang_up_once_the_outcome_could_be_seen(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screening, "SEEN_S", 0.0)
    bench = Bench(line, message=None)
    deciding = await begin(bench)
    bench.says("Leave a message after the tone.")
    assert await asyncio.wait_for(deciding, 5) is False
    assert bench.session.said == []
    assert bench.over.is_set()
    await bench.screening.aclose()


async def test_a_menu_is_talked_to(bench: Bench) -> None:
    deciding = await begin(bench)
    bench.says("For sales, press one.")
    assert await asyncio.wait_for(deciding, 5) is True


async def test_who_turns_out_a_machine_gets_the_message_too(bench: Bench) -> None:
    deciding = await begin(bench)
    bench.says("Hello, this is Anna.")
    assert await asyncio.wait_for(deciding, 5) is True
    bench.says("Please leave a message.", ends=False)
    bench.line.play(np.concatenate((tone(1000, seconds=0.5), silence(0.3))))
    await asyncio.wait_for(bench.over.wait(), 5)
    assert bench.session.interrupted
    assert bench.session.said == [MESSAGE]
