from collections.abc import AsyncIterator

import aiohttp
import pytest

from speech_plugins import STT, TTS
from tests.unit.speech_plugins.attempts import FAST
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer
from tests.unit.speech_plugins.listening import Events, Listening


@pytest.fixture
async def server() -> AsyncIterator[FakeSpeechServer]:
    async with FakeSpeechServer.running() as server:
        yield server


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def stt(server: FakeSpeechServer, http: aiohttp.ClientSession) -> AsyncIterator[STT]:
    plugin = STT(url=server.url, http_session=http)
    yield plugin
    await plugin.aclose()


@pytest.fixture
async def listening(stt: STT, server: FakeSpeechServer) -> AsyncIterator[Listening]:
    """A stream of the plugin, opened with retries."""
    stream = stt.stream(conn_options=FAST)
    yield Listening(stream, Events(stream), await server.accept())
    await stream.aclose()


@pytest.fixture
async def tts(server: FakeSpeechServer, http: aiohttp.ClientSession) -> AsyncIterator[TTS]:
    plugin = TTS(url=server.url, voice="slt", http_session=http)
    yield plugin
    await plugin.aclose()
