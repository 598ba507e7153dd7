"""Connections to the speech server. Wire errors become LiveKit's errors here and nowhere else.

LiveKit retries an `APIError` and nothing else, so whatever aiohttp, the operating system or the
server raises leaves this module as one of that family:

    APIError               a message that we cannot understand
    ├── APIStatusError     the server refused, with its HTTP status; retryable as the server said
    └── APIConnectionError the connection could not be made, or broke
        └── APITimeoutError  it took too long
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

import aiohttp
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    APIConnectionError,
    APIConnectOptions,
    APIError,
    APIStatusError,
    APITimeoutError,
    utils,
)
from pydantic import BaseModel, TypeAdapter, ValidationError
from yarl import URL

from speech_server.errors import EngineFailed, SpeechError
from speech_server.protocol.rest import ErrorBody

STT_CONN_OPTIONS = APIConnectOptions(max_retry=40, retry_interval=0.25, timeout=3.0)
"""Ten seconds of quick attempts: a call outlives a restart of the server, no word lost."""
TTS_CONN_OPTIONS = APIConnectOptions(max_retry=8, retry_interval=0.25, timeout=5.0)
"""Two seconds of quick attempts: a caller waits in silence meanwhile."""

_HEARTBEAT_S = 10.0
"""Ping interval; a peer that is silent for half of it after a ping counts as lost."""
_SEND_TIMEOUT_S = 5.0
"""Longest wait until the socket takes a message. A server that reads is done in microseconds."""
_CLOSE_TIMEOUT_S = 1.0
"""Longest wait for the peer's half of the closing handshake."""
_FINAL_CLOSE_CODES = frozenset({1002, 1003, 1007, 1008, 1009, 1010})
"""Close codes that blame the client: the same again fails the same. Source: RFC 6455, 7.4.1."""

_ERRORS = {kind.code: kind for kind in SpeechError.__subclasses__()}
_ERRORS_BY_STATUS = {kind.http_status: kind for kind in SpeechError.__subclasses__()}

_Message = TypeVar("_Message")


def fast_options(given: APIConnectOptions, ours: APIConnectOptions) -> APIConnectOptions:
    """Options for a stream: those given, or ours where the framework passes its own default.

    LiveKit's default waits 2 s between attempts, an eternity in speech; `AgentSession` always
    passes it, so it means "nothing was chosen".
    """
    return ours if given is DEFAULT_API_CONNECT_OPTIONS else given


def server_error(
    code: str, message: str, *, retryable: bool, status: int | None = None
) -> APIStatusError:
    """LiveKit's error for one that the speech server sent as a message.

    Args:
        code: a code of `speech_server.errors`; one we do not know counts as the server's fault.
        message: the server's own words.
        retryable: what the server said.
        status: HTTP status where the message carries one.
    """
    known = _ERRORS.get(code, EngineFailed)
    return APIStatusError(
        f"speech server: {message} ({code})",
        status_code=known.http_status if status is None else status,
        body={"code": code},
        retryable=retryable,
    )


def parse(adapter: TypeAdapter[_Message], text: str) -> _Message:
    """Read one message of the server.

    Raises:
        APIError: it is not JSON, or not a message of the protocol. The text itself is not quoted,
            since it may hold what a caller said.
    """
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        faults = error.errors(include_input=False, include_url=False, include_context=False)
        where = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc']) or 'message'}: {fault['type']}"
            for fault in faults[:3]
        )
        raise APIError(f"speech server sent a malformed message ({where})") from None


@contextmanager
def wire_errors() -> Iterator[None]:
    """Turn what aiohttp and the operating system raise into LiveKit's errors.

    Raises:
        APIStatusError: the server answered with an HTTP error, before the upgrade too.
        APITimeoutError: it did not answer in time.
        APIConnectionError: everything else that befalls a connection.
    """
    try:
        yield
    except TimeoutError as error:
        raise APITimeoutError("the speech server did not answer in time") from error
    except aiohttp.ClientResponseError as error:
        raise _refused(error.status, error.message) from None
    except (aiohttp.ClientError, OSError) as error:
        raise APIConnectionError("cannot reach the speech server") from error


def _refused(status: int, message: str) -> APIStatusError:
    known = _ERRORS_BY_STATUS.get(status)
    if status == 403:
        message = "no access: is the API key right?"
    elif known is not None:
        message = f"{message} ({known.code})"
    return APIStatusError(
        f"speech server refused with HTTP {status}: {message}",
        status_code=status,
        retryable=known.retryable if known is not None else status >= 500,
    )


class Socket:
    """One open WebSocket to the speech server."""

    def __init__(self, ws: aiohttp.ClientWebSocketResponse) -> None:
        self._ws = ws

    @property
    def closed(self) -> bool:
        """Whether either side closed it."""
        return self._ws.closed

    async def send(self, message: BaseModel | bytes) -> None:
        """Send audio, or a message of the protocol without its unset fields.

        Raises:
            APIConnectionError: the connection is gone.
            APITimeoutError: the server takes no more data.
        """
        with wire_errors():
            async with asyncio.timeout(_SEND_TIMEOUT_S):
                if isinstance(message, bytes):
                    await self._ws.send_bytes(message)
                else:
                    await self._ws.send_str(
                        message.model_dump_json(by_alias=True, exclude_unset=True)
                    )

    async def receive(self) -> str:
        """The next text message.

        Raises:
            APIConnectionError: the server closed the connection, or it broke.
        """
        with wire_errors():
            message = await self._ws.receive()
        if message.type is aiohttp.WSMsgType.TEXT:
            return str(message.data)
        if message.type is aiohttp.WSMsgType.ERROR:
            raise APIConnectionError("the speech server's connection broke") from message.data
        if message.type is aiohttp.WSMsgType.BINARY:
            raise APIError("speech server sent a binary message; the protocol has none")
        code = self._ws.close_code
        reason = f": {message.extra}" if message.extra else ""
        raise APIConnectionError(
            f"the speech server closed the connection (code {code}{reason})",
            retryable=code not in _FINAL_CLOSE_CODES,
        )

    async def close(self) -> None:
        """Close it; waits briefly for the server's half and never raises."""
        with suppress(aiohttp.ClientError, OSError):
            await self._ws.close()


class SpeechServer:
    """Where the speech server is and how to get in.

    Args:
        url: base URL without a path, `http://` or `https://`.
        api_key: sent with every request where given.
        http_session: session to use. None takes the job's own for `https://`, which LiveKit
            closes, and one of ours for `http://`: the job's reads the machine's certificates first.
            Ours goes through no proxy.

    Raises:
        ValueError: the URL is not one.
    """

    def __init__(
        self, url: str, api_key: str | None, http_session: aiohttp.ClientSession | None
    ) -> None:
        parsed = URL(url)
        if parsed.scheme not in {"http", "https"} or not parsed.host:
            raise ValueError(f"the speech server's URL must start with http:// or https://: {url}")
        self._url = parsed
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._given_session = http_session
        self._own_session: aiohttp.ClientSession | None = None

    @property
    def host(self) -> str:
        """Host and port."""
        return self._url.authority

    def _open_session(self) -> aiohttp.ClientSession:
        session = self._given_session or self._own_session
        if session is None and self._url.scheme == "https":
            session = utils.http_context.http_session()
        elif session is None:
            session = self._own_session = aiohttp.ClientSession()
        if session.closed:
            raise APIConnectionError("the HTTP session is closed", retryable=False)
        return session

    async def aclose(self) -> None:
        """Close what was opened here; sockets first, or their peers see them break."""
        if self._own_session is not None:
            await self._own_session.close()

    async def connect(
        self, path: str, *, timeout: float, params: dict[str, str] | None = None
    ) -> Socket:
        """Open a WebSocket.

        Args:
            path: path with its leading slash.
            timeout: longest time for the connection and its handshake, seconds.
            params: query parameters.

        Raises:
            APIStatusError: the server refused before the upgrade (429 when it is full).
            APITimeoutError: no answer in time.
            APIConnectionError: nobody there.
        """
        session = self._open_session()
        url = self._url.joinpath(path.removeprefix("/")).with_query(params or {})
        with wire_errors():
            async with asyncio.timeout(timeout):
                ws = await session.ws_connect(
                    url,
                    headers=self._headers,
                    heartbeat=_HEARTBEAT_S,
                    timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_TIMEOUT_S),
                )
        return Socket(ws)

    @asynccontextmanager
    async def post(
        self, path: str, *, data: aiohttp.FormData, timeout: float
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """Send a form; the answer is a 2xx.

        Args:
            path: path with its leading slash.
            data: the form.
            timeout: longest time for the whole exchange, seconds.

        Raises:
            APIStatusError: the server answered with an error; the message is its own.
            APITimeoutError: no answer in time.
            APIConnectionError: nobody there, or the connection broke.
        """
        session = self._open_session()
        url = self._url.joinpath(path.removeprefix("/"))
        with wire_errors():
            async with session.post(
                url,
                data=data,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=timeout),
            ) as response:
                if response.status >= 400:
                    raise _rest_error(response, await response.text(errors="replace"))
                yield response


def _rest_error(response: aiohttp.ClientResponse, body: str) -> APIStatusError:
    try:
        detail = ErrorBody.model_validate(json.loads(body)).error
    except ValueError:
        return _refused(response.status, response.reason or "no reason given")
    known = _ERRORS.get(detail.code)
    retryable = known.retryable if known is not None else response.status >= 500
    return server_error(detail.code, detail.message, retryable=retryable, status=response.status)
