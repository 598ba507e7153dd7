"""The application: chat completions, the model list, health and metrics."""

import asyncio
import datetime
import json
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse, StreamingResponse
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from language_server.api_key import KeyCheck
from language_server.completion import Completion, chunk_bodies, complete, whole_body
from language_server.dialogue.matcher import built_in_matcher
from language_server.dialogue.policy import ToolChoiceUnsatisfiable, respond
from language_server.dialogue.toolbox import Toolbox
from language_server.error_answers import add_error_handlers
from language_server.errors import ModelNotFound, Overloaded, ToolChoiceRefused
from language_server.metrics import Metrics
from language_server.protocol import (
    MODEL_ID,
    SYSTEM_FINGERPRINT,
    ChatRequest,
    Health,
    ModelCard,
    ModelList,
    NamedToolChoice,
)
from language_server.request_body import parse_request, read_body
from language_server.settings import LanguageServerSettings

logger = logging.getLogger(__name__)

Clock = Callable[[], datetime.datetime]
"""Local time without a zone."""


def create_app(settings: LanguageServerSettings, clock: Clock = datetime.datetime.now) -> FastAPI:
    """Build the application.

    Args:
        settings: the process's settings.
        clock: tells the time for prompts that do not.
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await asyncio.to_thread(built_in_matcher)  # read the phrases before the first caller
        yield

    metrics = Metrics()
    app = FastAPI(
        title="Parley responder", lifespan=lifespan, openapi_url=None, docs_url=None, redoc_url=None
    )
    add_error_handlers(app, metrics.errors)
    _add_open_routes(app, metrics)
    _add_model_routes(app, KeyCheck(settings))
    _add_completions(app, settings, metrics, clock)
    return app


def toolbox_of(request: ChatRequest) -> Toolbox:
    """The tools that the answer may use, as `tools` and `tool_choice` say."""
    schemas = {tool.function.name: tool.function.parameters for tool in request.tools or ()}
    parallel = request.parallel_tool_calls is not False
    choice = request.tool_choice
    if isinstance(choice, NamedToolChoice):
        return Toolbox(schemas, frozenset({choice.function.name}), parallel, must_call=True)
    allowed = frozenset() if choice == "none" else frozenset(schemas)
    return Toolbox(schemas, allowed, parallel, must_call=choice == "required")


def _add_completions(
    app: FastAPI, settings: LanguageServerSettings, metrics: Metrics, clock: Clock
) -> None:
    admission = _Admission(settings.language_max_requests, metrics)

    @app.post("/v1/chat/completions", dependencies=[Depends(KeyCheck(settings))])
    async def chat_completions(http_request: Request) -> Response:
        """Answer a conversation, whole or as server-sent events."""
        admission.check()
        with admission.slot():
            body = await read_body(http_request, settings)
            started = time.perf_counter()
            request = parse_request(body, settings)
            completion = _answer(request, clock)
        metrics.tokens.labels("in").inc(completion.usage.prompt_tokens)
        headers = _headers(request)
        if not request.stream:
            metrics.ttft.observe(time.perf_counter() - started)
            metrics.tokens.labels("out").inc(completion.pieces)
            metrics.requests.labels(completion.finish_reason).inc()
            return JSONResponse(whole_body(completion), headers=headers)
        include_usage = bool(request.stream_options and request.stream_options.include_usage)
        events = _events(completion, include_usage, settings.language_token_interval_s)
        watched = _watched(events, completion, started, admission, metrics)
        return StreamingResponse(watched, media_type="text/event-stream", headers=headers)


class _Admission:
    """Counts the bodies being read and the streams that run; refuses more than allowed."""

    def __init__(self, limit: int, metrics: Metrics) -> None:
        self._limit = limit
        self._running = 0
        self._metrics = metrics

    def check(self) -> None:
        """Refuse at once when full."""
        if self._running >= self._limit:
            raise Overloaded(f"{self._limit} requests are being answered; try again")

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Count one body or stream for as long as it runs."""
        self._running += 1
        self._metrics.active.set(self._running)
        try:
            yield
        finally:
            self._running -= 1
            self._metrics.active.set(self._running)


def _answer(request: ChatRequest, clock: Clock) -> Completion:
    try:
        reply = respond(request.messages, toolbox_of(request), clock())
    except ToolChoiceUnsatisfiable as error:
        raise ToolChoiceRefused(str(error), "tool_choice") from None
    return complete(reply, request)


def _headers(request: ChatRequest) -> dict[str, str]:
    headers = {"X-Model-Kind": SYSTEM_FINGERPRINT, "Cache-Control": "no-store"}
    if ignored := request.ignored_parameters:
        headers["X-Ignored-Parameters"] = ",".join(ignored)
    return headers


async def _events(
    completion: Completion, include_usage: bool, interval_s: float
) -> AsyncIterator[str]:
    """Server-sent events, paced."""
    for body in chunk_bodies(completion, include_usage=include_usage):
        # Also without a pace the loop gets its turn, so that one stream does not hold the others.
        await asyncio.sleep(interval_s)
        yield f"data: {json.dumps(body, ensure_ascii=False)}\n\n"
    yield "data: [DONE]\n\n"


async def _watched(
    events: AsyncIterator[str],
    completion: Completion,
    started: float,
    admission: _Admission,
    metrics: Metrics,
) -> AsyncIterator[str]:
    """Count the stream; one whose client leaves is `cancelled`."""
    outcome = "cancelled"
    with admission.slot():
        try:
            first = True
            async for event in events:
                if first:
                    metrics.ttft.observe(time.perf_counter() - started)
                    first = False
                yield event
            outcome = completion.finish_reason
            metrics.tokens.labels("out").inc(completion.pieces)
        finally:
            metrics.requests.labels(outcome).inc()


def _add_model_routes(app: FastAPI, key_check: KeyCheck) -> None:
    @app.get("/v1/models", dependencies=[Depends(key_check)])
    async def models() -> ModelList:
        """The one model, which is a script."""
        return ModelList()

    @app.get("/v1/models/{model_id:path}", dependencies=[Depends(key_check)])
    async def model(model_id: str) -> ModelCard:
        """One model."""
        if model_id != MODEL_ID:
            raise ModelNotFound(f"there is only the model {MODEL_ID!r}")
        return ModelCard()


def _add_open_routes(app: FastAPI, metrics: Metrics) -> None:
    @app.get("/health")
    @app.get("/ready")
    async def health() -> Health:
        """The process lives; there is nothing to load after start-up."""
        return Health()

    @app.get("/metrics")
    async def prometheus() -> Response:
        """Prometheus text format."""
        return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)
