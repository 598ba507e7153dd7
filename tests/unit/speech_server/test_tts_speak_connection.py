"""One WebSocket of the Cartesia dialect, with a socket that can stop reading."""

import asyncio
import json
from typing import Any

import pytest

from speech_server.admission import Admission
from speech_server.protocol.speak import LIVEKIT_DEFAULT_VOICE
from speech_server.settings import SpeechServerSettings
from speech_server.tts import speak_connection
from speech_server.tts.speak_connection import SpeakConnection
from speech_server.tts.speaker import Speaker
from tests.unit.speech_server.tone_engine import ToneEngine


class FakeSocket:
    """The server's end of a WebSocket; `reading` cleared is a client that reads no more."""

    def __init__(self) -> None:
        self.incoming: asyncio.Queue[dict[str, object]] = asyncio.Queue()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.reading = asyncio.Event()
        self.reading.set()
        self.close_code: int | None = None
        self.receives = 0
        self.asked_often = asyncio.Event()
        """Set when the server has asked for a message many times over."""

    async def accept(self) -> None: ...

    async def receive(self) -> dict[str, object]:
        self.receives += 1
        if self.receives > 10:
            self.asked_often.set()
        return await self.incoming.get()

    async def send_text(self, data: str) -> None:
        await self.reading.wait()
        if self.close_code is not None:
            raise RuntimeError('Cannot call "send" once a close message has been sent.')
        self.sent.put_nowait(json.loads(data))

    async def close(self, code: int, reason: str) -> None:
        self.close_code = code

    def say(self, **message: object) -> None:
        text = json.dumps({"continue" if k == "more" else k: v for k, v in message.items()})
        self.incoming.put_nowait({"type": "websocket.receive", "text": text})

    def hang_up(self) -> None:
        self.incoming.put_nowait({"type": "websocket.disconnect", "code": 1006})


@pytest.fixture
def engine() -> ToneEngine:
    return ToneEngine()


@pytest.fixture
def speaker(engine: ToneEngine) -> Speaker:
    settings = SpeechServerSettings(tts_max_contexts=2)
    return Speaker(engine, Admission("tts", 3), settings)


@pytest.fixture
def socket() -> FakeSocket:
    return FakeSocket()


@pytest.fixture
async def running(socket: FakeSocket, speaker: Speaker) -> asyncio.Task[None]:
    connection = SpeakConnection(socket, speaker)  # type: ignore[arg-type]
    return asyncio.create_task(connection.run())


@pytest.mark.parametrize(
    "voice",
    [{"mode": "id"}, {"mode": "id", "id": None}, {"mode": "id", "id": LIVEKIT_DEFAULT_VOICE}, None],
)
async def test_a_voice_without_a_name_is_the_default_one(
    socket: FakeSocket, running: asyncio.Task[None], engine: ToneEngine, voice: object
) -> None:
    socket.say(context_id="a", transcript="One.", voice=voice)
    while (await socket.sent.get())["type"] != "done":
        pass
    assert engine.segments[0].voice == "a"
    socket.hang_up()
    await running


async def test_hang_up_stops_the_engine_and_frees_the_places(
    socket: FakeSocket, running: asyncio.Task[None], speaker: Speaker, engine: ToneEngine
) -> None:
    engine.gate.clear()
    socket.say(context_id="a", transcript="One.")
    socket.say(context_id="b", transcript="Two.")
    await engine.begun.wait()
    assert speaker.admission.active == 2
    socket.hang_up()
    await running
    assert speaker.admission.active == 0
    assert engine.closed == len(engine.segments)


async def test_a_reader_that_is_stuck_loses_the_connection(
    socket: FakeSocket,
    running: asyncio.Task[None],
    speaker: Speaker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(speak_connection, "STUCK_READER_S", 0.01)
    socket.reading.clear()
    socket.say(context_id="a", transcript="One.")
    await running
    assert socket.close_code == 1008
    assert speaker.admission.active == 0


async def test_contexts_on_a_socket_are_bounded(
    socket: FakeSocket, running: asyncio.Task[None], engine: ToneEngine
) -> None:
    engine.gate.clear()
    for context_id in ("a", "b", "c"):
        socket.say(context_id=context_id, transcript="One.")
    error = await socket.sent.get()
    assert (error["context_id"], error["status_code"], error["retryable"]) == ("c", 429, True)
    socket.hang_up()
    await running


async def test_an_idle_socket_with_an_open_context_stays(
    socket: FakeSocket, speaker: Speaker
) -> None:
    # Below what the setting allows, so that the test need not wait.
    speaker.settings = speaker.settings.model_copy(update={"tts_idle_timeout_s": 0.005})
    socket.say(context_id="a", transcript="One", more=True)
    connection = SpeakConnection(socket, speaker)  # type: ignore[arg-type]
    running = asyncio.create_task(connection.run())
    await socket.asked_often.wait()
    assert not running.done()
    socket.say(context_id="a", cancel=True)
    while (await socket.sent.get())["type"] != "done":
        pass
    await running
    assert socket.close_code == 1001
    assert speaker.admission.active == 0


async def test_an_id_can_be_used_again_as_soon_as_done_is_read(
    socket: FakeSocket, running: asyncio.Task[None], speaker: Speaker
) -> None:
    for _ in range(3):
        socket.say(context_id="a", transcript="One.")
        types = []
        while not types or types[-1] != "done":
            types.append((await socket.sent.get())["type"])
        assert types[0] == "chunk"
        assert speaker.admission.active == 0
    socket.hang_up()
    await running


async def test_a_broken_engine_is_an_error_of_its_context(
    socket: FakeSocket, running: asyncio.Task[None], engine: ToneEngine
) -> None:
    engine.failure = RuntimeError("inside")
    socket.say(context_id="a", transcript="One.")
    error = await socket.sent.get()
    assert (error["type"], error["error_code"]) == ("error", "engine_failed")
    engine.failure = None
    socket.say(context_id="b", transcript="Two.")
    assert (await socket.sent.get())["type"] == "chunk"
    socket.hang_up()
    await running
