"""The application: the token endpoint, what the page wants to know, and the page itself."""

import logging
from collections.abc import Mapping
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from voice_agent.settings import TokenServerSettings
from voice_agent.token_server.auth import authenticate
from voice_agent.token_server.errors import (
    ConfigurationError,
    ErrorBody,
    ErrorDetail,
    TokenServerError,
    TooLarge,
)
from voice_agent.token_server.info import CallInfo, call_info
from voice_agent.token_server.origins import OriginCheck, is_loopback
from voice_agent.token_server.page import STATIC, Page, SecurityHeaders
from voice_agent.token_server.rate_limit import RateLimit
from voice_agent.token_server.token_request import read_terms
from voice_agent.token_server.tokens import TokenResponse, mint

logger = logging.getLogger(__name__)

MAX_BODY_BYTES = 16_384
"""Largest request body. What a caller may ask for fits into one of these many times over."""
MIN_SECRET_CHARS = 32
"""Shortest secret for HS256. Source: RFC 7518 section 3.2, 256 bits."""


def check_settings(settings: TokenServerSettings) -> None:
    """Refuse settings with which the server would be unsafe or of no use.

    Raises:
        ConfigurationError: the message names the setting and the fix.
    """
    secret = settings.livekit_api_secret.get_secret_value()
    if not settings.livekit_api_key or not secret:
        raise ConfigurationError(
            "LIVEKIT_API_KEY and LIVEKIT_API_SECRET are not set; `make run` makes a pair for this "
            "machine, or copy those of your livekit-server"
        )
    if len(secret) < MIN_SECRET_CHARS:
        raise ConfigurationError(f"LIVEKIT_API_SECRET needs {MIN_SECRET_CHARS} characters or more")
    auth = settings.token_auth_secret
    if auth is None and not is_loopback(settings.web_host):
        raise ConfigurationError(
            f"PARLEY_WEB_HOST={settings.web_host} lets other machines in, and anybody could start "
            "calls; set PARLEY_TOKEN_AUTH_SECRET (callers then need a JWT signed with it), or "
            "listen on 127.0.0.1"
        )
    if auth is not None and len(auth.get_secret_value()) < MIN_SECRET_CHARS:
        raise ConfigurationError(
            f"PARLEY_TOKEN_AUTH_SECRET needs {MIN_SECRET_CHARS} characters or more"
        )
    if not settings.web_allowed_personas:
        raise ConfigurationError("PARLEY_WEB_ALLOWED_PERSONAS names no persona")


def create_app(settings: TokenServerSettings, static: Path = STATIC) -> FastAPI:
    """Build the application.

    Args:
        settings: the process's settings.
        static: folder of the built page.

    Raises:
        ConfigurationError: the settings do not make a safe server.
    """
    check_settings(settings)
    info = call_info(settings)
    app = FastAPI(title="Parley token server", docs_url=None, redoc_url=None, openapi_url=None)
    _add_error_handlers(app)
    _add_routes(app, settings, info)
    app.mount("/", Page(static))
    app.add_middleware(
        CORSMiddleware,
        allow_origins=settings.web_allowed_origins,
        allow_methods=("GET", "POST"),
        allow_headers=("Authorization", "Content-Type"),
        max_age=600,
    )
    media_url = settings.web_livekit_url or settings.livekit_url
    app.add_middleware(SecurityHeaders, livekit_url=media_url)
    return app


def _add_routes(app: FastAPI, settings: TokenServerSettings, info: CallInfo) -> None:
    rate_limit = RateLimit(settings.token_rate)
    origins = OriginCheck(settings)
    secret = settings.token_auth_secret

    @app.get("/health")
    async def health() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    @app.get("/api/info")
    async def information(request: Request, response: Response) -> CallInfo:
        """Who answers a call here."""
        origins.require_own_name(request)
        response.headers["Cache-Control"] = "no-store"
        return info

    @app.post("/api/token", status_code=201)
    async def token(request: Request, response: Response) -> TokenResponse:
        """Let a caller in, per LiveKit's TokenSource endpoint contract."""
        response.headers["Cache-Control"] = "no-store"
        origins.require_own_name(request)
        origins.require_known_site(request)
        rate_limit.take(request.client.host if request.client else "unknown")
        if secret is not None:
            authenticate(request.headers.get("authorization"), secret.get_secret_value())
        body = await _read_body(request)
        terms = read_terms(body, settings.agent_name, settings.web_allowed_personas)
        granted = mint(settings, terms)
        logger.info("token granted", extra={"room": granted.room_name, "persona": terms.persona})
        return granted

    @app.get("/api/{path:path}")
    async def nothing_else(path: str) -> Response:
        """Keep the page's files from answering under /api."""
        if path == "token":
            raise HTTPException(405, "tokens are asked for with POST", {"Allow": "POST"})
        raise HTTPException(404, "there is nothing here")


async def _read_body(request: Request) -> bytes:
    """Read at most `MAX_BODY_BYTES`, whatever length was declared."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(f"the body may have {MAX_BODY_BYTES} bytes")
    return bytes(body)


def _add_error_handlers(app: FastAPI) -> None:
    @app.exception_handler(TokenServerError)
    async def refused(request: Request, error: TokenServerError) -> JSONResponse:
        logger.info("request refused", extra={"code": error.code})
        return _error_response(
            error.http_status, error.code, error.message, retry_after_s=error.retry_after_s
        )

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> JSONResponse:
        code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
        return _error_response(error.status_code, code, str(error.detail), error.headers)


def _error_response(
    status: int,
    code: str,
    message: str,
    headers: Mapping[str, str] | None = None,
    retry_after_s: int | None = None,
) -> JSONResponse:
    body = ErrorBody(error=ErrorDetail(code=code, message=message))
    sent = {"Cache-Control": "no-store", **(headers or {})}
    if retry_after_s is not None:
        sent["Retry-After"] = str(retry_after_s)
    return JSONResponse(body.model_dump(), status, sent)
