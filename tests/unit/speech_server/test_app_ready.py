"""What `/ready` says of a role whose engine is away for a while."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from speech_server.app import create_app
from speech_server.errors import EngineFailed
from speech_server.settings import SpeechServerSettings
from speech_server.tts.engine import TtsEngine
from speech_server.tts.service import TtsService
from tests.unit.speech_server.tone_engine import ToneEngine

WHY = "the voice model is being started again"


class MendingEngine(ToneEngine):
    """Recovers when it is told to."""

    recovering: str | None = None


class BrokenEngine(ToneEngine):
    async def load(self) -> None:
        raise EngineFailed("no weights")


class Service(TtsService):
    """Says when its engine has been loaded, or could not be."""

    def __init__(self, settings: SpeechServerSettings, engine: TtsEngine) -> None:
        super().__init__(settings, engine)
        self.settled = asyncio.Event()

    async def start(self) -> None:
        try:
            await super().start()
        finally:
            self.settled.set()


@asynccontextmanager
async def serving(engine: TtsEngine) -> AsyncIterator[httpx.AsyncClient]:
    """The application with one role, started as a server starts it."""
    settings = SpeechServerSettings()
    service = Service(settings, engine)
    app = create_app(settings, [service])
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://server") as http,
    ):
        await service.settled.wait()
        yield http


async def asked(http: httpx.AsyncClient, path: str = "/ready") -> tuple[int, Any]:
    answer = await http.get(path)
    return answer.status_code, answer.json()


async def test_not_ready_while_the_engine_recovers_and_ready_again_after() -> None:
    engine = MendingEngine()
    async with serving(engine) as http:
        ready = 200, {"status": "ok", "roles": {"tts": "ready"}}
        assert await asked(http) == ready
        engine.recovering = WHY
        away = {"status": "loading", "roles": {"tts": f"loading: {WHY}"}}
        assert await asked(http) == (503, away)
        assert await asked(http, "/health") == (200, {**away, "status": "ok"})
        engine.recovering = None
        assert await asked(http) == ready


async def test_an_engine_that_never_recovers_by_itself_is_ready_once_loaded() -> None:
    async with serving(ToneEngine()) as http:
        assert (await asked(http))[0] == 200


async def test_an_engine_that_could_not_be_loaded_has_failed() -> None:
    async with serving(BrokenEngine()) as http:
        failed = {"status": "failed", "roles": {"tts": "failed: no weights"}}
        assert await asked(http) == (503, failed)
