from collections.abc import AsyncIterator

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.speech_server_process import SpeechServer


@pytest.fixture
async def ws(speech_server: SpeechServer) -> AsyncIterator[ClientConnection]:
    async with connect(f"{speech_server.ws_url}/tts/websocket") as connection:
        yield connection


@pytest.fixture
async def http(speech_server: SpeechServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=speech_server.url, timeout=30) as client:
        yield client
