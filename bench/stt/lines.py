"""The wires a caller speaks over, made cheap: frames are encoded once, and sending one is a write.

`ListenLine` is `WS /v1/listen`, which both our server and the one that decodes each request alone
speak; `WyomingLine` is the Wyoming protocol over TCP. Reading and handshakes go through the
`websockets` library; only audio bypasses it.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any, Final, Protocol

from websockets.client import ClientProtocol
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

_OPEN_TIMEOUT_S: Final = 10.0


class Refused(Exception):
    """The server did not take this caller."""


class Listener(Protocol):
    """Who is told what the server heard."""

    def heard_final(self, text: str) -> None:
        """The answer to `finalize`."""

    def heard_interim(self, end_s: float) -> None:
        """Words of an utterance that still goes on; `end_s` of the stream's audio is covered."""

    def lost(self, reason: str) -> None:
        """The connection is gone; nothing more will be heard."""


class Line(Protocol):
    """One caller's connection."""

    sends_pauses: bool
    """Whether audio flows between utterances as well."""

    @property
    def ready(self) -> bool:
        """Whether an utterance may begin."""

    async def open(self) -> None:
        """Connect; raises `Refused`."""

    def encode(self, frame: bytes) -> bytes:
        """What to `send` for a frame of linear16."""

    def begin(self) -> None:
        """An utterance begins."""

    def send(self, encoded: bytes) -> None:
        """Send a frame that `encode` has made."""

    def finalize(self) -> None:
        """Ask for what was said."""

    def close(self) -> None:
        """Hang up."""


LineFactory = Callable[[Listener], Line]


class ListenLine(asyncio.Protocol):
    """`WS /v1/listen`.

    Args:
        url: with `ws://` and the query.
        listener: who is told.
    """

    sends_pauses = True
    ready = True

    def __init__(self, url: str, listener: Listener) -> None:
        self._uri = parse_uri(url)
        self._websocket = ClientProtocol(self._uri)
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                await loop.create_connection(lambda: self, self._uri.host, self._uri.port)
                await self._opened
        except (OSError, TimeoutError, InvalidStatus) as error:
            self.close()
            raise Refused(str(error) or type(error).__name__) from error

    def encode(self, frame: bytes) -> bytes:
        return Frame(Opcode.BINARY, frame).serialize(mask=True)

    def begin(self) -> None:
        """Nothing to say: the server hears it."""

    def send(self, encoded: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(encoded)

    def finalize(self) -> None:
        self.send(Frame(Opcode.TEXT, b'{"type":"Finalize"}').serialize(mask=True))

    def close(self) -> None:
        if self._transport is not None:
            self.send(Frame(Opcode.TEXT, b'{"type":"CloseStream"}').serialize(mask=True))
            self._transport.close()
            self._transport = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._websocket.send_request(self._websocket.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        self._websocket.receive_data(data)
        for event in self._websocket.events_received():
            if isinstance(event, Response):
                self._settle(self._websocket.handshake_exc)
            elif isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                self._hear(json.loads(bytes(event.data)))
        self._flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._settle(ConnectionError("the server hung up"))
        if self._transport is not None:
            self._transport = None
            self._listener.lost(str(exc or "the server hung up"))

    def _settle(self, error: Exception | None) -> None:
        if self._opened.done():
            return
        if error is None:
            self._opened.set_result(None)
        else:
            self._opened.set_exception(error)

    def _flush(self) -> None:
        for data in self._websocket.data_to_send():
            if data:
                self.send(data)
            elif self._transport is not None:
                self._transport.close()

    def _hear(self, message: dict[str, Any]) -> None:
        if message["type"] == "Error":
            self._listener.lost(f"{message['code']}: {message['description']}")
        if message["type"] != "Results":
            return
        if message["is_final"]:
            self._listener.heard_final(message["channel"]["alternatives"][0]["transcript"])
        elif not message.get("preflight"):
            self._listener.heard_interim(message["start"] + message["duration"])


class WyomingLine:
    """The Wyoming protocol: one connection for each utterance, opened ahead of it.

    Args:
        port: on loopback.
        listener: who is told.
    """

    sends_pauses = False
    _FORMAT: Final = {"rate": 16_000, "width": 2, "channels": 1}

    def __init__(self, port: int, listener: Listener) -> None:
        self._port = port
        self._listener = listener
        self._writer: asyncio.StreamWriter | None = None
        self._conversation: asyncio.Task[None] | None = None
        self._closed = False

    @property
    def ready(self) -> bool:
        return self._writer is not None

    async def open(self) -> None:
        try:
            async with asyncio.timeout(_OPEN_TIMEOUT_S):
                reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        except (OSError, TimeoutError) as error:
            raise Refused(str(error) or type(error).__name__) from error
        self._conversation = asyncio.create_task(self._converse(reader))

    def encode(self, frame: bytes) -> bytes:
        return _wyoming_event("audio-chunk", self._FORMAT, frame)

    def begin(self) -> None:
        self.send(_wyoming_event("transcribe", {"language": "en"}))
        self.send(_wyoming_event("audio-start", self._FORMAT))

    def send(self, encoded: bytes) -> None:
        if self._writer is not None:
            self._writer.write(encoded)

    def finalize(self) -> None:
        self.send(_wyoming_event("audio-stop", {}))

    def close(self) -> None:
        self._closed = True
        self._hang_up()
        if self._conversation is not None:
            self._conversation.cancel()

    def _hang_up(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    async def _converse(self, reader: asyncio.StreamReader) -> None:
        try:
            text = await _wyoming_transcript(reader)
        except (OSError, EOFError) as error:
            if not self._closed:
                self._listener.lost(str(error) or "the server hung up")
            return
        finally:
            self._hang_up()
        self._listener.heard_final(text)
        try:
            await self.open()
        except Refused as error:
            self._listener.lost(str(error))


def _wyoming_event(kind: str, data: dict[str, Any], payload: bytes = b"") -> bytes:
    """One event. Source: OHF-Voice/wyoming, README: a line of JSON, then the payload."""
    header: dict[str, Any] = {"type": kind, "data": data}
    if payload:
        header["payload_length"] = len(payload)
    return json.dumps(header).encode() + b"\n" + payload


async def _wyoming_transcript(reader: asyncio.StreamReader) -> str:
    while True:
        header = json.loads(await reader.readuntil(b"\n"))
        data = header.get("data") or {}
        if length := header.get("data_length"):
            data |= json.loads(await reader.readexactly(length))
        await reader.readexactly(header.get("payload_length") or 0)
        if header["type"] == "transcript":
            return str(data["text"])
