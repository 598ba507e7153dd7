"""What goes wrong on the TTS wire, as LiveKit sees it."""

import aiohttp
import pytest
from livekit.agents import (
    APIConnectionError,
    APIConnectOptions,
    APIError,
    APIStatusError,
    APITimeoutError,
)
from livekit.agents import tts as lk_tts

from speech_plugins import TTS
from tests.unit.speech_plugins.attempts import ONCE
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer, chunk, speak_error
from tests.unit.speech_plugins.speaking import say


async def test_refused_for_capacity_then_served(tts: TTS, server: FakeSpeechServer) -> None:
    server.refusals = [429]
    errors: list[lk_tts.TTSError] = []
    tts.on("error", errors.append)
    listener = say(tts, "Hello.")
    peer, context, text = await server.accept_reply()
    assert text == "Hello."
    await peer.speak(context, 0.1)
    await listener.finish()
    assert [error.recoverable for error in errors] == [True]
    assert isinstance(errors[0].error, APIStatusError)
    assert errors[0].error.status_code == 429


@pytest.mark.parametrize(("status", "retryable"), [(429, True), (503, True), (401, False)])
async def test_a_refusal_is_a_status_error(
    tts: TTS, server: FakeSpeechServer, status: int, retryable: bool
) -> None:
    server.refusals = [status]
    with pytest.raises(APIStatusError) as caught:
        await say(tts, "Hello.", ONCE).finish()
    assert caught.value.status_code == status
    assert caught.value.retryable is retryable


@pytest.mark.parametrize("garbage", ["not json", "[]", '{"type": "who"}', '{"type": "chunk"}'])
async def test_a_malformed_message_is_an_error_that_quotes_nothing(
    tts: TTS, server: FakeSpeechServer, garbage: str
) -> None:
    listener = say(tts, "Hello.", ONCE)
    peer = await server.accept()
    await peer.receive_text()
    await peer.send(garbage)
    with pytest.raises(APIConnectionError, match="malformed message") as caught:
        await listener.finish()
    assert garbage not in str(caught.value)


@pytest.mark.parametrize("data", ["*not base64*", "AA==", "AAAA"])
async def test_audio_that_is_no_audio(tts: TTS, server: FakeSpeechServer, data: str) -> None:
    listener = say(tts, "Hello.", ONCE)
    peer, context, _ = await server.accept_reply()
    await peer.send(chunk(context, 0.1) | {"data": data})
    with pytest.raises(APIError, match=r"base64|sample"):
        await listener.finish()


async def test_a_stall_is_a_timeout_and_the_server_is_told_to_stop(
    tts: TTS, server: FakeSpeechServer
) -> None:
    listener = say(tts, "Hello.", APIConnectOptions(max_retry=0, timeout=0.2))
    peer, context, _ = await server.accept_reply()
    with pytest.raises(APITimeoutError):
        await listener.finish()
    assert await peer.receive() == {"context_id": context, "cancel": True}


async def test_an_error_of_the_engine_is_not_retried(tts: TTS, server: FakeSpeechServer) -> None:
    listener = say(tts, "Hello.")
    peer, context, _ = await server.accept_reply()
    await peer.send(speak_error(context, 500, "engine_failed", retryable=False))
    with pytest.raises(APIStatusError) as caught:
        await listener.finish()
    assert caught.value.status_code == 500
    assert not caught.value.retryable
    assert server.connects == 1


async def test_full_for_a_context_is_retried(tts: TTS, server: FakeSpeechServer) -> None:
    listener = say(tts, "Hello.")
    peer, context, _ = await server.accept_reply()
    await peer.send(speak_error(context, 429, "overloaded", retryable=True))
    context, _ = await peer.receive_text()
    await peer.speak(context, 0.1)
    await listener.finish()
    assert server.connects == 1


async def test_an_error_of_no_context_ends_the_wait(tts: TTS, server: FakeSpeechServer) -> None:
    listener = say(tts, "Hello.", ONCE)
    peer = await server.accept()
    await peer.receive_text()
    await peer.send(speak_error(None, 400, "bad_request", retryable=False))
    with pytest.raises(APIStatusError, match="bad_request"):
        await listener.finish()


async def test_nobody_there_is_a_connection_error(
    http: aiohttp.ClientSession, unused_tcp_port: int
) -> None:
    tts = TTS(url=f"http://127.0.0.1:{unused_tcp_port}", http_session=http)
    with pytest.raises(APIConnectionError):
        await say(tts, "Hello.", ONCE).finish()
    await tts.aclose()
