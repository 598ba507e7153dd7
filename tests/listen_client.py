"""A plain client of `WS /v1/listen` for tests."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import numpy.typing as npt
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.speech_server_process import SpeechServer

Message = dict[str, Any]


class ListenClient:
    """Sends audio and control, collects what comes back."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.received: list[Message] = []

    async def send(self, *parts: npt.NDArray[np.int16] | bytes | str | Message) -> None:
        """Send audio (in messages of 20 ms at 16 kHz), raw bytes, raw text or a control message."""
        for part in parts:
            if isinstance(part, np.ndarray):
                for begin in range(0, len(part), 320):
                    await self._socket.send(part[begin : begin + 320].tobytes())
            elif isinstance(part, dict):
                await self._socket.send(json.dumps(part))
            else:
                await self._socket.send(part)

    async def next(self, kind: str = "Results", **fields: object) -> Message:
        """The next message of a type whose fields have these values; others are only collected."""
        async with asyncio.timeout(60):
            while True:
                message: Message = json.loads(await self._socket.recv())
                self.received.append(message)
                if message["type"] == kind and fields.items() <= message.items():
                    return message

    async def end(self) -> int:
        """Say that no more audio follows, collect the rest, and return the close code."""
        await self.send({"type": "CloseStream"})
        return await self.closed()

    async def closed(self) -> int:
        """Collect until the server closes, and return the close code."""
        async with asyncio.timeout(60):
            while True:
                try:
                    self.received.append(json.loads(await self._socket.recv()))
                except ConnectionClosed:
                    assert self._socket.close_code is not None
                    return self._socket.close_code

    def of_type(self, kind: str) -> list[Message]:
        """Everything of one type received so far."""
        return [message for message in self.received if message["type"] == kind]

    def finals(self) -> list[str]:
        """The fixed texts received so far."""
        return [text(message) for message in self.of_type("Results") if message["is_final"]]


def text(results: Message) -> str:
    """The transcript of a `Results` message."""
    transcript: str = results["channel"]["alternatives"][0]["transcript"]
    return transcript


@asynccontextmanager
async def listening(
    server: SpeechServer, query: str = "", headers: dict[str, str] | None = None
) -> AsyncIterator[ListenClient]:
    """Open a stream; 16 kHz linear16 unless the query says otherwise."""
    raw = "" if "encoding=" in query else "encoding=linear16&sample_rate=16000&"
    url = f"{server.ws_url}/v1/listen?{raw}{query}"
    async with connect(url, additional_headers=headers) as socket:
        yield ListenClient(socket)
