"""Which sites may use this server from a browser.

A page on another site may not fetch tokens unless it is listed. On loopback the host name is
checked as well: without it a site could rebind its own name to 127.0.0.1 and pass as ours.
"""

import ipaddress
from urllib.parse import urlsplit

from starlette.requests import Request

from voice_agent.settings import TokenServerSettings
from voice_agent.token_server.errors import Forbidden

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})


def is_loopback(host: str) -> bool:
    """Whether an address to listen on is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class OriginCheck:
    """Knows the server's own names and the sites that the operator allows."""

    def __init__(self, settings: TokenServerSettings) -> None:
        self._origins = frozenset(origin.rstrip("/") for origin in settings.web_allowed_origins)
        names = {_hostname(origin) for origin in self._origins}
        self._names: frozenset[str | None] = LOOPBACK_NAMES | {settings.web_host} | (names - {None})
        self._any_name = not is_loopback(settings.web_host)

    def require_own_name(self, request: Request) -> None:
        """Check the `Host` header.

        Raises:
            Forbidden: this loopback server was reached under a name that is not its own.
        """
        host = request.headers.get("host", "")
        if not self._any_name and _hostname(f"//{host}") not in self._names:
            raise Forbidden(
                "this server does not go by that host name; put its origin, such as "
                "https://calls.example, into PARLEY_WEB_ALLOWED_ORIGINS"
            )

    def require_known_site(self, request: Request) -> None:
        """Check the `Origin` header, which browsers send and other clients do not.

        Raises:
            Forbidden: a page of another site asks.
        """
        origin = request.headers.get("origin")
        if origin is None or origin in self._origins:
            return
        if origin.partition("://")[2] != request.headers.get("host", ""):
            raise Forbidden(
                "pages of this site may not call here; put its origin into "
                "PARLEY_WEB_ALLOWED_ORIGINS"
            )


def _hostname(url: str) -> str | None:
    """Host without the port; None when the URL is malformed."""
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
