"""Speech to text with a second server behind the first: no word is lost, none is there twice.

The stream itself keeps all audio that no final transcript covers, and its flushes, and sends them
again after a reconnect. So all that is to be done is to notice soon, and to reconnect elsewhere.
"""

import asyncio
import json
from collections import deque
from typing import Any

import aiohttp
from livekit.agents import (
    NOT_GIVEN,
    APIConnectionError,
    APIConnectOptions,
    APIError,
    APITimeoutError,
    NotGivenOr,
    stt,
)
from livekit.agents.utils import AudioBuffer
from pydantic import BaseModel

from speech_plugins.connection import Socket, SpeechServer
from speech_plugins.fallback import ATTEMPT_TIMEOUT_S, PROBE_INTERVAL_S, FirstProvider, race
from speech_plugins.fallback_speech_server import FirstSpeechServer
from speech_plugins.stt import STT
from speech_server.protocol import listen

CONNECT_HEAD_START_S = 0.25
"""Time that the first server has for the handshake before the second is asked as well, seconds; on
one network it takes milliseconds."""


class FallbackSTT(STT):
    """`STT` on the first of two servers that is well.

    A first server that refuses, breaks or owes a final transcript for longer than
    `ATTEMPT_TIMEOUT_S` is left for the second; the stream returns after a turn once it is back.

    Args:
        url: base URL of the first speech server.
        fallback_url: base URL of the second.
        fallback_api_key: its key where it asks for one.
        api_key: the first one's.
        http_session: as for `STT`.
        probe_interval_s: time between two questions whether the first is back, seconds.
        options: what else an `STT` takes.

    Raises:
        ValueError: a URL is not one.
    """

    def __init__(
        self,
        *,
        url: str,
        fallback_url: str,
        api_key: str | None = None,
        fallback_api_key: str | None = None,
        http_session: aiohttp.ClientSession | None = None,
        probe_interval_s: float = PROBE_INTERVAL_S,
        **options: Any,
    ) -> None:
        super().__init__(url=url, api_key=api_key, http_session=http_session, **options)
        self._server: SpeechServer = _TwoServers(
            url,
            api_key,
            http_session,
            second=SpeechServer(fallback_url, fallback_api_key, http_session),
            probe_interval_s=probe_interval_s,
        )
        self._second = STT(
            url=fallback_url, api_key=fallback_api_key, http_session=http_session, **options
        )

    async def _recognize_impl(
        self,
        buffer: AudioBuffer,
        *,
        language: NotGivenOr[str] = NOT_GIVEN,
        conn_options: APIConnectOptions,
    ) -> stt.SpeechEvent:
        request: dict[str, Any] = {"language": language, "conn_options": conn_options}
        try:
            return await super()._recognize_impl(buffer, **request)
        except APIError:
            return await self._second._recognize_impl(buffer, **request)

    async def aclose(self) -> None:
        """Close every stream and the connections."""
        await super().aclose()
        await self._second.aclose()


class _TwoServers(FirstSpeechServer):
    """The first server, which connects to the second while it is not well itself."""

    def __init__(
        self,
        url: str,
        api_key: str | None,
        http_session: aiohttp.ClientSession | None,
        *,
        second: SpeechServer,
        probe_interval_s: float,
    ) -> None:
        super().__init__(url, api_key, http_session)
        self._second = second
        self._provider = FirstProvider("stt", self.check_ready, probe_interval_s)

    async def connect(
        self, path: str, *, timeout: float, params: dict[str, str] | None = None
    ) -> Socket:
        timeout = min(timeout, ATTEMPT_TIMEOUT_S)
        connect = super().connect

        async def first() -> Socket:
            socket = await connect(path, timeout=timeout, params=params)
            return _FirstSocket(socket, self._provider)

        async def second() -> Socket:
            socket = await self._second.connect(path, timeout=timeout, params=params)
            return _SecondSocket(socket, self._provider)

        first_is_well = self._provider.is_well
        preferred, other = (first, second) if first_is_well else (second, first)
        socket, lost = await race(
            preferred(),
            other,
            head_start_s=CONNECT_HEAD_START_S,
            discard=lambda socket: socket.close(),
        )
        if first_is_well and lost is not None:
            self._provider.failed(lost)
        return socket

    async def aclose(self) -> None:
        await self._provider.aclose()
        await super().aclose()
        await self._second.aclose()


class _FirstSocket(Socket):
    """A connection to the first server that counts as broken when a final transcript is late."""

    def __init__(self, socket: Socket, provider: FirstProvider) -> None:
        super().__init__(socket._ws)
        self._provider = provider
        self._due_at: deque[float] = deque()
        self._deadline: asyncio.Timeout | None = None

    async def send(self, message: BaseModel | bytes) -> None:
        if isinstance(message, listen.Finalize):
            self._due_at.append(asyncio.get_running_loop().time() + ATTEMPT_TIMEOUT_S)
            if self._deadline is not None and not self._deadline.expired():
                self._deadline.reschedule(self._due_at[0])
        await super().send(message)

    async def receive(self) -> str:
        try:
            async with asyncio.timeout_at(self._due_at[0] if self._due_at else None) as deadline:
                self._deadline = deadline
                text = await super().receive()
        except TimeoutError:
            raise self._failed(
                APITimeoutError(f"no final transcript within {ATTEMPT_TIMEOUT_S:g} s")
            ) from None
        except APIError as error:
            raise self._failed(error) from None
        finally:
            self._deadline = None
        message = _read(text)
        if message.get("type") == "Error":
            raise self._failed(APIConnectionError(f"the server gave up: {message.get('code')}"))
        if self._due_at and message.get("from_finalize") is True:
            self._due_at.popleft()
            self._provider.served()
        return text

    def _failed(self, error: APIError) -> APIError:
        self._provider.failed(error)
        error.retryable = True  # somebody else is asked next
        return error


class _SecondSocket(Socket):
    """A connection to the second server that ends after a turn once the first one is back."""

    def __init__(self, socket: Socket, provider: FirstProvider) -> None:
        super().__init__(socket._ws)
        self._provider = provider
        self._in_turn = True
        self._waiting: asyncio.Timeout | None = None
        self._forget = provider.call_when_well(self._leave_between_turns)

    async def receive(self) -> str:
        try:
            async with asyncio.timeout(None) as self._waiting:
                self._leave_between_turns()
                text = await super().receive()
        except TimeoutError:
            raise APIConnectionError("going back to the first speech server") from None
        finally:
            self._waiting = None
        message = _read(text)
        if message.get("from_finalize") is True:
            self._in_turn = False
        elif message.get("type") in _SPEECH:
            self._in_turn = True
        return text

    def _leave_between_turns(self) -> None:
        if self._provider.is_well and not self._in_turn and self._waiting is not None:
            self._waiting.reschedule(asyncio.get_running_loop().time())

    async def close(self) -> None:
        self._forget()
        await super().close()


_SPEECH = frozenset({"SpeechStarted", "Results"})
"""Messages that tell of speech, but for the answer to a flush, which ends a turn."""


def _read(text: str) -> dict[str, Any]:
    """A message; empty when it cannot be read, of which the stream itself complains."""
    try:
        message = json.loads(text)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}
