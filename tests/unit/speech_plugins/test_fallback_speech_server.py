import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from livekit.agents import APIConnectionError, APIStatusError

from speech_plugins.fallback_speech_server import FirstSpeechServer


async def asked(http: aiohttp.ClientSession, status: int) -> None:
    async def ready(request: web.Request) -> web.Response:
        return web.Response(status=status)

    app = web.Application()
    app.router.add_get("/ready", ready)
    async with TestServer(app) as server:
        url = str(server.make_url("")).rstrip("/")
        await FirstSpeechServer(url, "a key", http).check_ready()


@pytest.mark.parametrize("status", [200, 404])
async def test_one_that_answers_is_back(http: aiohttp.ClientSession, status: int) -> None:
    await asked(http, status)


async def test_one_that_still_loads_is_not(http: aiohttp.ClientSession) -> None:
    with pytest.raises(APIStatusError):
        await asked(http, 503)


async def test_one_that_is_gone_is_not(http: aiohttp.ClientSession) -> None:
    with pytest.raises(APIConnectionError):
        await FirstSpeechServer("http://127.0.0.1:9", None, http).check_ready()
