"""What goes wrong on the STT wire, as LiveKit sees it."""

import aiohttp
import pytest
from livekit.agents import APIConnectionError, APIError, APIStatusError, APITimeoutError

from speech_plugins import STT, recognize_stream
from tests.unit.speech_plugins.attempts import FAST, ONCE
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer, final
from tests.unit.speech_plugins.listening import Events, expect_finalize


async def test_a_server_that_closes_without_a_word_after_the_end_is_no_error(
    stt: STT, server: FakeSpeechServer
) -> None:
    stream = stt.stream(conn_options=ONCE)
    events = Events(stream)
    peer = await server.accept()
    stream.end_input()
    await expect_finalize(peer)
    await peer.send(final(""))
    assert await peer.receive() == {"type": "CloseStream"}
    await peer.ws.close()
    await events.finish()


@pytest.mark.parametrize(
    ("status", "retryable"), [(429, True), (503, True), (400, False), (403, False)]
)
async def test_a_refusal_is_a_status_error(
    stt: STT, server: FakeSpeechServer, status: int, retryable: bool
) -> None:
    server.refusals = [status]
    events = Events(stt.stream(conn_options=ONCE))
    with pytest.raises(APIStatusError) as caught:
        await events.finish()
    assert caught.value.status_code == status
    assert caught.value.retryable is retryable


async def test_an_error_message_keeps_its_status(stt: STT, server: FakeSpeechServer) -> None:
    events = Events(stt.stream(conn_options=ONCE))
    peer = await server.accept()
    await peer.send(
        {"type": "Error", "code": "shutting_down", "description": "bye", "retryable": True}
    )
    with pytest.raises(APIStatusError, match="bye") as caught:
        await events.finish()
    assert caught.value.status_code == 503


@pytest.mark.parametrize(
    "garbage", ["", "no json", "null", '{"type": "Who"}', '{"type": "Results", "start": "x"}']
)
async def test_a_malformed_message_is_an_error(
    stt: STT, server: FakeSpeechServer, garbage: str
) -> None:
    events = Events(stt.stream(conn_options=ONCE))
    peer = await server.accept()
    await peer.send(garbage)
    with pytest.raises(APIError, match="malformed"):
        await events.finish()


async def test_a_binary_message_is_an_error(stt: STT, server: FakeSpeechServer) -> None:
    events = Events(stt.stream(conn_options=ONCE))
    peer = await server.accept()
    await peer.ws.send_bytes(b"\0")
    with pytest.raises(APIError, match="binary"):
        await events.finish()


async def test_a_server_that_blames_us_is_not_asked_again(
    stt: STT, server: FakeSpeechServer
) -> None:
    events = Events(stt.stream(conn_options=FAST))
    peer = await server.accept()
    await peer.ws.close(code=1008, message=b"no")
    with pytest.raises(APIConnectionError, match="no"):
        await events.finish()
    assert server.connects == 1


async def test_no_answer_to_a_flush_is_a_timeout(
    stt: STT, server: FakeSpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognize_stream, "_FINAL_TIMEOUT_S", 0.1)
    stream = stt.stream(conn_options=ONCE)
    events = Events(stream)
    await server.accept()
    stream.flush()
    with pytest.raises(APITimeoutError):
        await events.finish()


async def test_nobody_there_is_a_connection_error(
    http: aiohttp.ClientSession, unused_tcp_port: int
) -> None:
    stt = STT(url=f"http://127.0.0.1:{unused_tcp_port}", http_session=http)
    events = Events(stt.stream(conn_options=ONCE))
    with pytest.raises(APIConnectionError):
        await events.finish()
