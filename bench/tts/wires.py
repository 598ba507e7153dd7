"""The wires a reply is asked over: text token by token, or all of it at once."""

import asyncio
import base64
import itertools
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import aiohttp
import numpy as np

from bench.tts.playout import Piece
from bench.tts.replies import tokens_of
from speech_server.errors import Overloaded
from voice_agent.caller.sound import RATE_HZ, Pcm16

_FORMAT: Final = {"container": "raw", "encoding": "pcm_s16le", "sample_rate": RATE_HZ}


@dataclass
class Spoken:
    """What came of one reply."""

    text: str
    asked_at_s: float
    """`time.perf_counter` when the first text was sent."""
    pieces: list[Piece] = field(default_factory=list)
    lateness_s: list[float] = field(default_factory=list)
    """How late tokens were sent: a busy client measures itself."""
    refused: bool = False
    failure: str = ""
    """Why it is not whole; empty: it is."""


class Wire(Protocol):
    """A way to have a reply spoken. For several replies at once."""

    async def speak(self, text: str) -> Spoken:
        """Ask for a reply and take all of it; failures are told in the result."""


class Idle:
    """A connection that nobody speaks over. It is read, or the server's pings went unanswered."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._reading = asyncio.create_task(socket.receive())

    async def take(self) -> aiohttp.ClientWebSocketResponse | None:
        """The connection, to speak over; None when the server has closed it meanwhile."""
        self._reading.cancel()
        await asyncio.wait([self._reading])
        return self._socket if self._reading.cancelled() else None


class SpeakWire:
    """`/tts/websocket`, text pushed token by token at a language model's pace.

    Every reply has a connection to itself, as with the plugins, which keep some open: so does this.

    Args:
        session: for the connections.
        url: of the server, with `http://`.
        tokens_per_s: pace of the language model.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, tokens_per_s: float) -> None:
        self._session = session
        self._url = f"{url}/tts/websocket"
        self._token_s = 1 / tokens_per_s
        self.idle: list[Idle] = []
        self._names = itertools.count(1)

    async def connect(self, count: int) -> None:
        """Have that many connections open, so that no reply waits for one."""
        wanted = max(0, count - len(self.idle))
        self.idle += map(Idle, await asyncio.gather(*(self._open() for _ in range(wanted))))

    async def speak(self, text: str) -> Spoken:
        """See `Wire`; the time that a connection takes to open is not counted."""
        try:
            socket = await self._take_idle() or await self._open()
        except (aiohttp.ClientError, OSError) as error:
            return Spoken(text, time.perf_counter(), failure=f"no connection: {error}")
        name = f"reply-{next(self._names)}"
        spoken = Spoken(text, time.perf_counter())
        sending = asyncio.create_task(self._send(socket, name, spoken))
        done = False
        try:
            done = await _receive(socket, name, spoken)
        finally:
            sending.cancel()
            await asyncio.wait([sending])
            if done:
                self.idle.append(Idle(socket))
            else:
                # With it ends what the server may still have of this reply.
                with suppress(ConnectionError):
                    await socket.close()
        return spoken

    async def _take_idle(self) -> aiohttp.ClientWebSocketResponse | None:
        while self.idle:
            if (socket := await self.idle.pop().take()) is not None:
                return socket
        return None

    async def _open(self) -> aiohttp.ClientWebSocketResponse:
        return await self._session.ws_connect(self._url, compress=0)

    async def _send(
        self, socket: aiohttp.ClientWebSocketResponse, name: str, spoken: Spoken
    ) -> None:
        for index, token in enumerate(tokens_of(spoken.text)):
            due_s = spoken.asked_at_s + index * self._token_s
            await asyncio.sleep(max(0.0, due_s - time.perf_counter()))
            spoken.lateness_s.append(time.perf_counter() - due_s)
            with suppress(ConnectionError):  # whoever receives is told
                await socket.send_json(generate(name, token, more=True))
        with suppress(ConnectionError):
            await socket.send_json(generate(name, "", more=False))


def generate(context_id: str, transcript: str, *, more: bool) -> dict[str, Any]:
    """A message with text."""
    return {
        "context_id": context_id,
        "model_id": "",
        "transcript": transcript,
        "continue": more,
        "output_format": _FORMAT,
    }


async def _receive(socket: aiohttp.ClientWebSocketResponse, name: str, spoken: Spoken) -> bool:
    """Take a reply; whether the server has said that nothing more of it comes."""
    async for message in socket:
        at_s = time.perf_counter()
        if message.type is not aiohttp.WSMsgType.TEXT:
            break
        fields = message.json()
        if fields.get("context_id") != name:
            continue
        if fields["type"] == "chunk":
            spoken.pieces.append(Piece(at_s, samples_of(base64.b64decode(fields["data"]))))
        elif fields["type"] == "error":
            spoken.failure = fields["error"]
            spoken.refused = fields["status_code"] == Overloaded.http_status
            return False
        elif fields["type"] == "done":
            spoken.failure = "" if spoken.pieces else "no audio"
            return True
    spoken.failure = "the server hung up"
    return False


class SpeechWire:
    """`POST /v1/audio/speech`: the whole text at once, raw audio as it is made.

    Args:
        session: for the connections.
        url: of the server, with `http://`.
        voice: id of the voice; empty: the server's own choice.
    """

    def __init__(self, session: aiohttp.ClientSession, url: str, voice: str = "") -> None:
        self._session = session
        self._url = f"{url}/v1/audio/speech"
        self._fields = {"model": "parley", "response_format": "pcm"}
        if voice:
            self._fields["voice"] = voice

    async def speak(self, text: str) -> Spoken:
        """See `Wire`."""
        spoken = Spoken(text, time.perf_counter())
        try:
            async with self._session.post(self._url, json=self._fields | {"input": text}) as answer:
                if answer.status != 200:
                    spoken.refused = answer.status == Overloaded.http_status
                    spoken.failure = f"{answer.status}: {(await answer.text())[:200]}"
                    return spoken
                odd = b""
                async for data in answer.content.iter_any():
                    data, odd = even(odd + data)
                    if data:
                        spoken.pieces.append(Piece(time.perf_counter(), samples_of(data)))
        except (aiohttp.ClientError, OSError) as error:
            spoken.failure = str(error) or type(error).__name__
            return spoken
        spoken.failure = "" if spoken.pieces else "no audio"
        return spoken


def even(data: bytes) -> tuple[bytes, bytes]:
    """Whole samples of 2 bytes, and the rest."""
    whole = len(data) & ~1
    return data[:whole], data[whole:]


def samples_of(data: bytes) -> Pcm16:
    """Audio of a message: int16, (samples,)."""
    return np.frombuffer(data, "<i2")
