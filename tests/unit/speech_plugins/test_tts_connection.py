"""The TTS plugin's one connection: opened ahead of the first reply, closed in peace."""

import logging

import aiohttp
import pytest

from speech_plugins import TTS
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer
from tests.unit.speech_plugins.speaking import say


async def test_prewarm_opens_the_connection(tts: TTS, server: FakeSpeechServer) -> None:
    tts.prewarm()
    peer = await server.accept()
    listener = say(tts, "Hello.")
    context, _ = await peer.receive_text()
    await peer.speak(context, 0.1)
    await listener.finish()
    assert server.connects == 1


async def test_close_says_goodbye_to_the_server(
    tts: TTS, server: FakeSpeechServer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await tts._socket._ensure_open(timeout=1.0)
    peer = await server.accept()
    await tts.aclose()
    await peer.wait_gone()
    assert peer.ws.close_code == aiohttp.WSCloseCode.OK
    assert "disconnected" not in caplog.text


async def test_prewarm_survives_a_server_that_is_down(
    tts: TTS, server: FakeSpeechServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.refusals = [503]
    await tts._socket._prewarm(timeout=1.0)
    assert "prewarm failed" in caplog.text
