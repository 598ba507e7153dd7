"""Replies as HTTP answers: what is freed when, and what a failure looks like."""

import asyncio
import json
from collections.abc import AsyncIterator

import numpy as np
import pytest
from starlette.types import Message

from speech_server.admission import Admission
from speech_server.audio.encode import RawEncoder
from speech_server.errors import BadRequest, EngineFailed, Overloaded
from speech_server.settings import SpeechServerSettings
from speech_server.tts import spoken_response
from speech_server.tts.engine import Pcm16
from speech_server.tts.speaker import Speaker
from speech_server.tts.speech_wire import _server_sent_events
from speech_server.tts.spoken_response import SpokenResponse, speak_over_http
from speech_server.tts.stream import Delivery
from tests.unit.speech_server.tone_engine import RATE_HZ, ToneEngine

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}, "headers": []}


@pytest.fixture
def engine() -> ToneEngine:
    return ToneEngine()


@pytest.fixture
def speaker(engine: ToneEngine) -> Speaker:
    return Speaker(engine, Admission("tts", 1), SpeechServerSettings())


async def respond(speaker: Speaker, text: str = "One two three.") -> SpokenResponse:
    return await speak_over_http(speaker, text, Delivery("a", RATE_HZ), RawEncoder("pcm_s16le"))


async def never() -> Message:
    return await asyncio.get_running_loop().create_future()


async def test_the_place_is_held_until_the_answer_ends(speaker: Speaker) -> None:
    response = await respond(speaker)
    assert speaker.admission.active == 1
    with pytest.raises(Overloaded):
        await respond(speaker)
    bodies: list[bytes] = []

    async def send(message: Message) -> None:
        bodies.append(message.get("body", b""))

    await response(SCOPE, never, send)
    assert speaker.admission.active == 0
    assert len(b"".join(bodies)) > 3 * 1_600 * 2


async def test_hang_up_stops_the_engine(speaker: Speaker, engine: ToneEngine) -> None:
    response = await respond(speaker, "One. " * 200)
    gone = asyncio.Event()

    async def receive() -> Message:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        if message.get("body"):
            gone.set()
            await never()

    await response(SCOPE, receive, send)
    assert speaker.admission.active == 0
    assert engine.closed == len(engine.segments) < 200


async def test_a_stuck_reader_is_given_up(
    speaker: Speaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spoken_response, "STUCK_READER_S", 0.01)
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)
        if message.get("body"):
            await never()

    await (await respond(speaker))(SCOPE, never, send)
    assert speaker.admission.active == 0
    assert sent[-1]["more_body"] is True  # never ended as if it were whole


@pytest.mark.parametrize(
    ("text", "failure", "error"),
    [("...", None, BadRequest), ("One.", RuntimeError("inside"), EngineFailed)],
)
async def test_failures_before_the_first_audio_are_raised(
    speaker: Speaker,
    engine: ToneEngine,
    text: str,
    failure: Exception | None,
    error: type[Exception],
) -> None:
    engine.failure = failure
    with pytest.raises(error):
        await respond(speaker, text)
    assert speaker.admission.active == 0


async def test_a_failure_on_the_way_is_an_event() -> None:
    async def audio() -> AsyncIterator[Pcm16]:
        yield np.ones(10, dtype=np.int16)
        raise EngineFailed("it broke")

    lines = [line async for line in _server_sent_events(RawEncoder("pcm_s16le"), audio())]
    events = [json.loads(line.removeprefix(b"data: ")) for line in lines]
    assert [event["type"] for event in events] == ["speech.audio.delta", "error"]
    assert events[1]["error"]["code"] == "engine_failed"
