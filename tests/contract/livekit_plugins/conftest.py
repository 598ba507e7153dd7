from collections.abc import AsyncIterator

import aiohttp
import pytest

from tests.contract.livekit_plugins.relay import Relay
from tests.speech_server_process import SpeechServer


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
async def relay(speech_server: SpeechServer) -> AsyncIterator[Relay]:
    async with Relay.running(speech_server.port) as relay:
        yield relay
