"""API key check for every route but health and metrics, over HTTP and WebSocket alike."""

import hmac
from collections.abc import Iterable

from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from speech_server.error_response import error_response
from speech_server.errors import Unauthorized
from speech_server.metrics import ERRORS

OPEN_PATHS = frozenset({"/health", "/ready", "/metrics"})


def presented_keys(connection: HTTPConnection) -> Iterable[str]:
    """Every place where a client of the three dialects may put its key."""
    scheme, _, credentials = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() in {"bearer", "token"}:
        yield credentials.strip()
    if header := connection.headers.get("x-api-key"):
        yield header
    if query := connection.query_params.get("api_key"):
        yield query


class ApiKeyMiddleware:
    """Refuses requests without the key. Pure ASGI, so that streams are not buffered."""

    def __init__(self, app: ASGIApp, api_key: str) -> None:
        self._app = app
        self._api_key = api_key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 401, a WebSocket in place of its upgrade."""
        if scope["type"] not in {"http", "websocket"} or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        connection = HTTPConnection(scope)
        keys = presented_keys(connection)
        if any(hmac.compare_digest(key.encode(), self._api_key) for key in keys):
            await self._app(scope, receive, send)
            return
        error = Unauthorized("an API key is required: send it as 'Authorization: Bearer KEY'")
        ERRORS.labels("http", error.code).inc()
        await error_response(error)(scope, receive, send)
