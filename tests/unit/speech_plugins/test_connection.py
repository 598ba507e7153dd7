import asyncio
import ssl

import aiohttp
import pytest
from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    APIConnectionError,
    APIConnectOptions,
    APIStatusError,
    APITimeoutError,
    utils,
)

from speech_plugins.connection import (
    STT_CONN_OPTIONS,
    SpeechServer,
    fast_options,
    server_error,
    wire_errors,
)
from speech_server.errors import SpeechError
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer


@pytest.mark.parametrize("kind", SpeechError.__subclasses__())
def test_every_error_of_the_server_keeps_status_and_retryable(kind: type[SpeechError]) -> None:
    error = server_error(kind.code, "why", retryable=kind.retryable)
    assert isinstance(error, APIStatusError)
    assert error.status_code == kind.http_status
    assert error.retryable is kind.retryable
    assert "why" in error.message


def test_an_unknown_code_is_the_servers_fault() -> None:
    assert server_error("new_code", "why", retryable=True).status_code == 500


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (TimeoutError(), APITimeoutError),
        (aiohttp.ServerTimeoutError(), APITimeoutError),
        (aiohttp.ClientConnectionResetError(), APIConnectionError),
        (aiohttp.ServerDisconnectedError(), APIConnectionError),
        (aiohttp.ClientPayloadError(), APIConnectionError),
        (ConnectionResetError(), APIConnectionError),
        (BrokenPipeError(), APIConnectionError),
        (OSError(28, "no space"), APIConnectionError),
    ],
)
def test_what_befalls_a_connection_is_retryable(
    raised: Exception, expected: type[APIConnectionError]
) -> None:
    with pytest.raises(expected) as caught, wire_errors():
        raise raised
    assert caught.value.retryable


def test_a_mistake_of_ours_stays_what_it_is() -> None:
    with pytest.raises(KeyError), wire_errors():
        raise KeyError("ours")


async def test_the_key_goes_along(server: FakeSpeechServer, http: aiohttp.ClientSession) -> None:
    speech_server = SpeechServer(server.url, "secret", http)
    socket = await speech_server.connect("/v1/listen", timeout=1.0)
    peer = await server.accept()
    assert peer.request.headers["Authorization"] == "Bearer secret"
    await socket.close()
    with pytest.raises(APIConnectionError):
        await socket.send(b"\0\0")


async def test_a_path_below_the_url_is_kept(
    server: FakeSpeechServer, http: aiohttp.ClientSession
) -> None:
    with pytest.raises(APIStatusError) as caught:
        await SpeechServer(f"{server.url}/below/", None, http).connect("/v1/listen", timeout=1.0)
    assert caught.value.status_code == 404
    assert not caught.value.retryable


async def test_a_closed_session_is_not_retried() -> None:
    session = aiohttp.ClientSession()
    await session.close()
    with pytest.raises(APIConnectionError) as caught:
        await SpeechServer("http://127.0.0.1:1", None, session).connect("/v1/listen", timeout=1.0)
    assert not caught.value.retryable


async def test_our_own_session_reads_no_certificates(
    server: FakeSpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(ssl, "create_default_context")
    speech_server = SpeechServer(server.url, None, None)
    socket = await speech_server.connect("/v1/listen", timeout=1.0)
    await socket.close()
    await speech_server.aclose()
    with pytest.raises(APIConnectionError, match="session is closed"):
        await speech_server.connect("/v1/listen", timeout=1.0)


async def test_tls_takes_the_jobs_session() -> None:
    async with utils.http_context.open() as session:
        speech_server = SpeechServer("https://127.0.0.1:1", None, None)
        with pytest.raises(APIConnectionError, match="cannot reach"):
            await speech_server.connect("/v1/listen", timeout=1.0)
        await speech_server.aclose()
        assert not session.closed


async def test_a_session_that_was_given_is_left_open(
    server: FakeSpeechServer, http: aiohttp.ClientSession
) -> None:
    speech_server = SpeechServer(server.url, None, http)
    socket = await speech_server.connect("/v1/listen", timeout=1.0)
    await socket.close()
    await speech_server.aclose()
    assert not http.closed


async def test_a_server_that_never_answers_is_a_timeout(http: aiohttp.ClientSession) -> None:
    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(say_nothing, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        speech_server = SpeechServer(f"http://{host}:{port}", None, http)
        with pytest.raises(APITimeoutError):
            await speech_server.connect("/v1/listen", timeout=0.1)


def test_the_frameworks_default_means_ours() -> None:
    chosen = APIConnectOptions(max_retry=1)
    assert fast_options(DEFAULT_API_CONNECT_OPTIONS, STT_CONN_OPTIONS) is STT_CONN_OPTIONS
    assert fast_options(chosen, STT_CONN_OPTIONS) is chosen
