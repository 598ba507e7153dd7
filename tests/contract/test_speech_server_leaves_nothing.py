"""What streams leave behind in the process that served them, aborted ones included: nothing."""

import asyncio
import gc
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import httpx
import psutil
import pytest
import uvicorn
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from speech_server.app import create_app
from speech_server.settings import SpeechServerSettings
from speech_server.stt import listen_wire
from speech_server.stt.batcher import Job
from speech_server.stt.incoming_audio import IncomingAudio
from speech_server.stt.segmenter import Segmenter
from speech_server.stt.stream import TranscriptStream
from speech_server.stt.vad import SileroVoiceActivity
from speech_server.tts.speak_connection import SpeakConnection
from speech_server.tts.stream import Reply
from speech_server.tts.synthesis_thread import SpeechSink
from tests.spoken import silence, speak

OF_ONE_STREAM = (
    listen_wire._Connection, IncomingAudio, Segmenter, SileroVoiceActivity, TranscriptStream, Job,
    SpeakConnection, Reply, SpeechSink,
)  # fmt: skip
STREAMS = 6
LISTEN = (
    "/v1/listen?encoding=linear16&sample_rate=24000&preflight=true&interim_results=true"
    "&endpointing=false"
)
SPEAK = "/tts/websocket"
TEXT = "When is my appointment?"


class Served:
    """The server in this process, so that its objects can be counted."""

    def __init__(self, server: uvicorn.Server) -> None:
        self.server = server
        (socket, *_) = server.servers[0].sockets
        self.url = f"ws://127.0.0.1:{socket.getsockname()[1]}"

    async def connections_closed(self) -> None:
        """Wait until the server has noticed that every client is gone."""
        state = self.server.server_state
        await _until(lambda: not state.connections and not state.tasks)

    @staticmethod
    def alive() -> Counter[str]:
        """Objects of streams that still exist."""
        gc.collect()
        return Counter(type(o).__name__ for o in gc.get_objects() if type(o) in OF_ONE_STREAM)


@pytest.fixture
async def served() -> AsyncIterator[Served]:
    settings = SpeechServerSettings(stt_capacity_streams=STREAMS, tts_capacity_streams=STREAMS)
    app = create_app(settings)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning", lifespan="on"))
    serving = asyncio.create_task(server.serve())
    try:
        await _until(lambda: server.started)
        here = Served(server)
        async with httpx.AsyncClient(base_url=here.url.replace("ws", "http", 1)) as http:
            async with asyncio.timeout(60):
                while (await http.get("/ready")).status_code != 200:
                    pass
        yield here
    finally:
        server.should_exit = True
        await serving


async def _until(condition: Callable[[], bool]) -> None:
    """Wait for what uvicorn does by itself and tells nobody about."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def test_nothing_of_a_stream_outlives_it(served: Served) -> None:
    process = psutil.Process()
    await _round(served)  # connections, caches and threads that are made once
    open_files = process.num_fds()
    for _ in range(2):
        await _round(served)
        assert served.alive() == Counter()
        assert process.num_fds() <= open_files


async def _round(served: Served) -> None:
    kinds = (_listen, _vanish_while_listening, _speak, _vanish_while_speaking, _cancel)
    await asyncio.gather(*(kind(served.url) for kind in kinds))
    await served.connections_closed()


async def _listen(url: str) -> None:
    async with connect(url + LISTEN) as ws:
        await ws.send(silence(0.2, 24_000).tobytes() + speak(TEXT, "rms", 24_000).tobytes())
        await ws.send(json.dumps({"type": "Finalize"}))
        await ws.send(json.dumps({"type": "CloseStream"}))
        with suppress(ConnectionClosed):
            while True:
                await ws.recv()


async def _vanish_while_listening(url: str) -> None:
    """Gone without a word while its audio waits for the engine."""
    async with _abandoned(url + LISTEN) as ws:
        await ws.send(speak(TEXT, "rms", 24_000).tobytes())
        await ws.send(json.dumps({"type": "Finalize"}))


async def _speak(url: str) -> None:
    async with connect(url + SPEAK) as ws:
        await ws.send(_wish("a"))
        await _next(ws, "done")


async def _cancel(url: str) -> None:
    async with connect(url + SPEAK) as ws:
        await ws.send(_wish("a", 20))
        await _next(ws, "chunk")
        await ws.send(json.dumps({"context_id": "a", "cancel": True}))
        await _next(ws, "done")


async def _vanish_while_speaking(url: str) -> None:
    async with _abandoned(url + SPEAK) as ws:
        await ws.send(_wish("a", 20))
        await _next(ws, "chunk")


@asynccontextmanager
async def _abandoned(url: str) -> AsyncIterator[ClientConnection]:
    """A connection whose client disappears: no close frame."""
    ws = await connect(url)
    yield ws
    ws.transport.abort()


def _wish(context_id: str, times: int = 1) -> str:
    return json.dumps({"context_id": context_id, "transcript": f"{TEXT} " * times})


async def _next(ws: ClientConnection, kind: str) -> None:
    async with asyncio.timeout(30):
        while json.loads(await ws.recv())["type"] != kind:
            pass
