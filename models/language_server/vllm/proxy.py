"""The only door to vLLM: five paths, a key, bounds, places by priority, a copy for each call.

vLLM itself listens where nobody else can reach it: its own key leaves paths open that stop it, load
code or show what others asked.
"""

import asyncio
import time
from collections.abc import Sequence

from fastapi import Depends, FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest

from language_server.api_key import KeyCheck
from language_server.error_answers import add_error_handlers
from language_server.errors import ModelNotFound, Overloaded, RequestError
from language_server.request_body import check_request, read_body
from language_server.settings import LanguageServerSettings
from language_server.vllm.admission import CLASSES, Rate, class_of
from language_server.vllm.control_tokens import ControlTokens
from language_server.vllm.counters import Counters
from language_server.vllm.metrics import Metrics, Pages
from language_server.vllm.relay import Relay
from language_server.vllm.replica import Replica
from language_server.vllm.request import ModelRequest
from language_server.vllm.routing import choose
from language_server.vllm.warmth import WarmPrefixes

SESSION_HEADERS = ("x-session-id", "x-livekit-room-id")
"""What keeps the requests of one call together, first wins; then the body's `user`."""
KEEP_PREFIX_HEADER = "x-parley-keep-prefix"
"""`1`: keep this request's first system message and tools in the cache from now on."""
_SESSION_CHARS = 256


def create_proxy(
    settings: LanguageServerSettings,
    model: str,
    replicas: Sequence[Replica],
    prefixes: WarmPrefixes,
    metrics: Metrics,
    control: ControlTokens,
) -> FastAPI:
    """Build the application.

    Args:
        settings: the process's settings.
        model: name under which the model is asked for.
        replicas: the copies of it.
        prefixes: what they keep cached.
        metrics: the instruments.
        control: the model's control tokens, which no message may hold.
    """
    app = FastAPI(title="Parley language server", openapi_url=None, docs_url=None, redoc_url=None)
    add_error_handlers(app, metrics.errors)
    _add_open_routes(app, replicas, metrics)
    _add_model_routes(app, model, KeyCheck(settings))
    rate = Rate(settings.language_max_rate_hz)

    @app.post("/v1/chat/completions", dependencies=[Depends(KeyCheck(settings))])
    async def chat_completions(http_request: Request) -> Response:
        """Answer a conversation, whole or as server-sent events."""
        if not rate.take(time.monotonic()):
            metrics.refused.labels("unknown", "rate").inc()
            per_s = f"{settings.language_max_rate_hz:g}"
            raise Overloaded(f"more than {per_s} requests per second; try again")
        body = await read_body(http_request, settings)
        request = check_request(body, ModelRequest, model, settings)
        kind = class_of(request.priority)
        try:
            replica = choose(replicas, _session(http_request, request), kind)
        except RequestError as error:
            reason = "full" if isinstance(error, Overloaded) else "unavailable"
            metrics.refused.labels(kind, reason).inc()
            raise
        asked = request.vllm_body(model, settings.language_max_tokens, control)
        keep = http_request.headers.get(KEEP_PREFIX_HEADER) == "1"
        prefixes.see(replica.name, asked, replica.computed_tokens, keep=keep)
        headers = {"Cache-Control": "no-store", "X-Replica": replica.name}
        if ignored := request.ignored_parameters:
            headers["X-Ignored-Parameters"] = ",".join(ignored)
        timeout_s = settings.language_request_timeout_s
        return await Relay(http_request, replica, kind, timeout_s, metrics).answer(asked, headers)

    return app


def _session(http_request: Request, request: ModelRequest) -> str | None:
    for header in SESSION_HEADERS:
        if value := http_request.headers.get(header):
            return value[:_SESSION_CHARS]
    return request.user


def _add_model_routes(app: FastAPI, model: str, key_check: KeyCheck) -> None:
    card = {"id": model, "object": "model", "created": 0, "owned_by": "parley"}

    @app.get("/v1/models", dependencies=[Depends(key_check)])
    async def models() -> JSONResponse:
        """The one model."""
        return JSONResponse({"object": "list", "data": [card]})

    @app.get("/v1/models/{model_id:path}", dependencies=[Depends(key_check)])
    async def one_model(model_id: str) -> JSONResponse:
        """One model."""
        if model_id != model:
            raise ModelNotFound(f"there is only the model {model!r}")
        return JSONResponse(card)


def _add_open_routes(app: FastAPI, replicas: Sequence[Replica], metrics: Metrics) -> None:
    @app.get("/health")
    async def health() -> JSONResponse:
        """The process lives."""
        return JSONResponse({"status": "ok", "kind": "vllm"})

    @app.get("/ready")
    async def ready() -> JSONResponse:
        """Whether a copy of the model answers; each one's state."""
        states = [{"replica": replica.name, "state": replica.state} for replica in replicas]
        is_ready = any(replica.ready for replica in replicas)
        status = "ok" if is_ready else "not ready"
        told = {"status": status, "kind": "vllm", "replicas": states}
        return JSONResponse(told, 200 if is_ready else 503)

    @app.get("/metrics")
    async def prometheus() -> Response:
        """Prometheus text format: ours, and each vLLM's own with its name as `replica`."""
        for replica in replicas:
            for kind in CLASSES:
                taken = replica.places.taken_by(kind)
                metrics.active.labels(replica.name, kind).set(taken)
                metrics.places.labels(replica.name, kind).set(replica.places.limits[kind])
        pages = await asyncio.gather(*(replica.page() for replica in replicas))
        theirs = CollectorRegistry()
        named = zip(replicas, pages, strict=True)
        theirs.register(Pages([Counters(page).families(one.name) for one, page in named]))
        page = generate_latest(metrics.registry) + generate_latest(theirs)
        return Response(page, media_type=CONTENT_TYPE_LATEST)
