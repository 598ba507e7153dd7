"""The application: routes of the roles switched on, health, metrics, warm-up and drain."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from speech_server.auth import ApiKeyMiddleware
from speech_server.error_response import error_response
from speech_server.errors import BadRequest, NotFound, SpeechError
from speech_server.metrics import ERRORS
from speech_server.protocol.rest import Health, ModelCard, ModelList
from speech_server.role import Recovering, Role
from speech_server.settings import SpeechServerSettings
from speech_server.stt.service import SttService
from speech_server.tts.service import TtsService

logger = logging.getLogger(__name__)


class _RoleState:
    """One role and how far its start-up has come."""

    def __init__(self, role: Role) -> None:
        self.role = role
        self._state = "loading"

    @property
    def state(self) -> str:
        """`loading`, `loading: reason`, `ready` or `failed: reason`."""
        if self._state == "ready" and isinstance(self.role, Recovering):
            why = self.role.recovering
            return f"loading: {why}" if why else self._state
        return self._state

    async def start(self) -> None:
        try:
            await self.role.start()
        except Exception as error:
            self._state = f"failed: {error}"
            logger.exception("role failed to start", extra={"role": self.role.name})
            return
        self._state = "ready"
        logger.info("role ready", extra={"role": self.role.name})


def create_app(settings: SpeechServerSettings, roles: list[Role] | None = None) -> FastAPI:
    """Build the application.

    Args:
        settings: the process's settings.
        roles: the roles to serve; None builds those that the settings switch on.
    """
    if roles is None:
        builders = {"stt": SttService, "tts": TtsService}
        roles = [builders[name](settings) for name in settings.speech_roles]
    states = [_RoleState(role) for role in roles]

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        # Loading runs beside serving, so that /health answers while /ready says "loading".
        loading = asyncio.create_task(_start_all(states))
        try:
            yield
        finally:
            loading.cancel()
            for state in states:
                state.role.drain()
            await asyncio.gather(*(state.role.stop() for state in states))

    app = FastAPI(title="Parley speech server", lifespan=lifespan)
    if settings.speech_api_key is not None:
        key = settings.speech_api_key.get_secret_value()
        app.add_middleware(ApiKeyMiddleware, api_key=key)
    for role in roles:
        app.include_router(role.router)
    _add_error_handlers(app)
    _add_common_routes(app, states)
    return app


async def _start_all(states: list[_RoleState]) -> None:
    await asyncio.gather(*(state.start() for state in states))


def _add_common_routes(app: FastAPI, states: list[_RoleState]) -> None:
    @app.get("/health")
    async def health() -> Health:
        """The process lives."""
        return Health(status="ok", roles={s.role.name: s.state for s in states})

    @app.get("/ready")
    async def ready(response: Response) -> Health:
        """Every role is loaded and warm; 503 until then, and while one of them recovers."""
        roles = {s.role.name: s.state for s in states}
        if all(state == "ready" for state in roles.values()):
            return Health(status="ok", roles=roles)
        response.status_code = 503
        failed = any(state.startswith("failed") for state in roles.values())
        return Health(status="failed" if failed else "loading", roles=roles)

    @app.get("/metrics")
    async def metrics() -> Response:
        """Prometheus text format."""
        return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)

    @app.get("/v1/models")
    async def models() -> ModelList:
        """The models of the roles served here."""
        return ModelList(data=tuple(s.role.model_card for s in states))

    @app.get("/v1/models/{model_id:path}")
    async def model(model_id: str) -> ModelCard:
        """One model."""
        cards = {s.role.model_card.id: s.role.model_card for s in states}
        if model_id not in cards:
            raise NotFound(f"no model {model_id!r}; there are: {', '.join(cards)}")
        return cards[model_id]


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(SpeechError)
    async def speech_error(request: Request, error: SpeechError) -> JSONResponse:
        ERRORS.labels("http", error.code).inc()
        return error_response(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        faults = "; ".join(
            f"{'.'.join(str(part) for part in fault['loc'][1:]) or 'body'}: {fault['msg']}"
            for fault in error.errors()
        )
        ERRORS.labels("http", BadRequest.code).inc()
        return error_response(BadRequest(faults))
