"""The built page, and the headers under which it and every other answer is sent."""

from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

STATIC = Path(__file__).parent / "static"
"""Where `npm run build` in `web/` puts the page."""

NOT_BUILT = (
    "The page is not built. Run `make setup`, or `npm ci && npm run build` in web/, and reload.\n"
    "The token endpoint, POST /api/token, works without it.\n"
)


class Page:
    """Serves the built files; says how to build them while they are not there."""

    def __init__(self, folder: Path = STATIC) -> None:
        self._index = folder / "index.html"
        self._files = StaticFiles(directory=folder, html=True, check_dir=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if not self._index.is_file():
            await PlainTextResponse(NOT_BUILT, 503)(scope, receive, send)
            return
        # Vite puts a hash of the content into the names under /assets: those never change.
        hashed = scope["path"].startswith("/assets/")
        cache = "public, max-age=31536000, immutable" if hashed else "no-cache"

        async def send_cached(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                MutableHeaders(scope=message).setdefault("Cache-Control", cache)
            await send(message)

        await self._files(scope, receive, send_cached)


def content_security_policy(livekit_url: str) -> str:
    """Only our own files, and connections to ourselves and to livekit-server."""
    media = urlsplit(livekit_url)
    secure = "s" if media.scheme in {"wss", "https"} else ""
    # The client probes over HTTP why a WebSocket was refused, so both schemes are needed.
    connect = f"'self' ws{secure}://{media.netloc} http{secure}://{media.netloc}"
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "media-src 'self' blob:",
            f"connect-src {connect}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


class SecurityHeaders:
    """Adds the headers to every answer. Pure ASGI, so that nothing is buffered."""

    def __init__(self, app: ASGIApp, livekit_url: str) -> None:
        self._app = app
        self._headers = {
            "Content-Security-Policy": content_security_policy(livekit_url),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": (
                "microphone=(self), speaker-selection=(self), camera=(), geolocation=()"
            ),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and dress the answer."""

        async def send_dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_dressed)
