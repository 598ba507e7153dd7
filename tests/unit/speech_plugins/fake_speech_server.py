"""A speech server on a real loopback socket whose every move is made by the test."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web
from aiohttp.test_utils import TestServer

_PATIENCE_S = 10.0
"""A test that waits longer than this waits for something that will not come."""


@dataclass
class Peer:
    """The server's end of one WebSocket."""

    ws: web.WebSocketResponse
    request: web.Request
    inbox: asyncio.Queue[Any] = field(default_factory=asyncio.Queue)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> Any:
        """The next message: bytes, or the object of a JSON text."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self.inbox.get()

    async def receive_audio(self, size: int) -> bytes:
        """Exactly so many bytes of audio, in whatever messages they come."""
        audio = b""
        while len(audio) < size:
            message = await self.receive()
            assert isinstance(message, bytes), f"audio expected, got {message}"
            audio += message
        assert len(audio) == size
        return audio

    async def receive_text(self, *, until_last: bool = True) -> tuple[str, str]:
        """The context id and the whole text of a reply, up to its last piece."""
        text = ""
        while True:
            message = await self.receive()
            text += message["transcript"]
            if not message["continue"]:
                return message["context_id"], text

    async def send(self, message: object) -> None:
        await self.ws.send_str(message if isinstance(message, str) else json.dumps(message))

    async def speak(self, context_id: str, duration_s: float) -> None:
        """Audio, and the end of the context."""
        await self.send(chunk(context_id, duration_s))
        await self.send(done(context_id))

    def drop(self) -> None:
        """Cut the connection without a word, like a killed process or a lost cable."""
        transport = self.request.transport
        assert transport is not None
        transport.abort()

    async def wait_gone(self) -> None:
        async with asyncio.timeout(_PATIENCE_S):
            await self.gone.wait()


class FakeSpeechServer:
    def __init__(self) -> None:
        self.refusals: list[int] = []
        """HTTP statuses for the next WebSocket requests in place of the upgrade."""
        self.transcription: tuple[int, str] = (200, '{"text": "hello"}')
        self.forms: list[dict[str, Any]] = []
        self.connects = 0
        self._accepted: asyncio.Queue[Peer] = asyncio.Queue()
        app = web.Application()
        app.router.add_get("/v1/listen", self._websocket)
        app.router.add_get("/tts/websocket", self._websocket)
        app.router.add_post("/v1/audio/transcriptions", self._transcribe)
        self._server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self._server.make_url("")).rstrip("/")

    async def accept(self) -> Peer:
        """The next connection."""
        async with asyncio.timeout(_PATIENCE_S):
            return await self._accepted.get()

    async def accept_reply(self) -> tuple[Peer, str, str]:
        """The next connection, and the context id and whole text of its first reply."""
        peer = await self.accept()
        return peer, *(await peer.receive_text())

    async def _websocket(self, request: web.Request) -> web.StreamResponse:
        self.connects += 1
        if self.refusals:
            return web.Response(status=self.refusals.pop(0))
        ws = web.WebSocketResponse()
        await ws.prepare(request)
        peer = Peer(ws, request)
        self._accepted.put_nowait(peer)
        async for message in ws:
            if message.type is aiohttp.WSMsgType.BINARY:
                peer.inbox.put_nowait(message.data)
            elif message.type is aiohttp.WSMsgType.TEXT:
                peer.inbox.put_nowait(json.loads(message.data))
        peer.gone.set()
        return ws

    async def _transcribe(self, request: web.Request) -> web.Response:
        form = await request.post()
        self.forms.append(
            {k: v.file.read() if isinstance(v, web.FileField) else v for k, v in form.items()}
        )
        status, body = self.transcription
        return web.Response(status=status, text=body, content_type="application/json")

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["FakeSpeechServer"]:
        server = cls()
        await server._server.start_server(shutdown_timeout=0.1)
        try:
            yield server
        finally:
            await server._server.close()


# --- messages of the two dialects ---


def results(
    text: str,
    *,
    is_final: bool = False,
    from_finalize: bool = False,
    preflight: bool = False,
    start: float = 0.0,
    duration: float = 1.0,
    words: list[tuple[str, float, float]] | None = None,
) -> dict[str, object]:
    alternative: dict[str, object] = {"transcript": text}
    if words is not None:
        alternative["words"] = [
            {"word": word.lower(), "punctuated_word": word, "start": begin, "end": end}
            for word, begin, end in words
        ]
    message: dict[str, object] = {
        "type": "Results",
        "start": start,
        "duration": duration,
        "is_final": is_final,
        "speech_final": False,
        "from_finalize": from_finalize,
        "channel": {"alternatives": [alternative]},
        "metadata": {
            "request_id": "request-1",
            "model_uuid": "uuid",
            "model_info": {"name": "fake", "version": "1", "arch": "fake"},
        },
    }
    if preflight:
        message["preflight"] = True
    return message


def final(text: str, **kwargs: Any) -> dict[str, object]:
    """The answer to a Finalize."""
    return results(text, is_final=True, from_finalize=True, **kwargs)


SPEECH_STARTED = {"type": "SpeechStarted", "timestamp": 0.0}
METADATA = {
    "type": "Metadata",
    "request_id": "request-1",
    "created": "2026-11-21T10:00:00Z",
    "duration": 1.0,
    "channels": 1,
}


def chunk(context_id: str, duration_s: float, value: int = 1000) -> dict[str, object]:
    pcm = value.to_bytes(2, "little", signed=True) * round(24_000 * duration_s)
    data = base64.b64encode(pcm).decode()
    return {"type": "chunk", "context_id": context_id, "data": data, "step_time": 1.0}


def timestamps(context_id: str, *words: tuple[str, float, float]) -> dict[str, object]:
    texts, starts, ends = zip(*words, strict=True)
    return {
        "type": "timestamps",
        "context_id": context_id,
        "word_timestamps": {"words": texts, "start": starts, "end": ends},
    }


def flush_done(context_id: str, flush_id: int = 1) -> dict[str, object]:
    return {"type": "flush_done", "context_id": context_id, "flush_id": flush_id}


def done(context_id: str) -> dict[str, object]:
    return {"type": "done", "context_id": context_id}


def speak_error(context_id: str | None, status: int, code: str, retryable: bool) -> dict[str, Any]:
    message = {
        "type": "error",
        "status_code": status,
        "error": "it failed",
        "error_code": code,
        "retryable": retryable,
    }
    return message if context_id is None else message | {"context_id": context_id}
