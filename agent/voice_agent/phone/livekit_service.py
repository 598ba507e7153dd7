"""LiveKit's server API as the telephone commands use it: bounded waits, errors that say what to do.

Source of the conditions: livekit/livekit v1.13.5, pkg/service/sip.go and errors.go.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from urllib.parse import urlsplit

import aiohttp
from livekit import api

from voice_agent.phone.errors import BadInput, NotConnected, ServiceTrouble, one_line
from voice_agent.settings import AgentSettings

ANSWER_TIMEOUT_S = 10.0
"""Longest wait for one answer; dialling has limits of its own. Seconds."""

NO_REDIS = "redis required"
"""In livekit-server's message when it was started without Redis."""


@asynccontextmanager
async def livekit_api(settings: AgentSettings) -> AsyncIterator[api.LiveKitAPI]:
    """A client of the server that the settings name.

    Raises:
        BadInput: the settings hold no key, or an address that is none.
        ServiceTrouble: from the body, see `clear_errors`.
    """
    if not _is_address(settings.livekit_url):
        raise BadInput(
            "LIVEKIT_URL is no address of a LiveKit server", "It looks like ws://127.0.0.1:7880."
        )
    secret = settings.livekit_api_secret.get_secret_value()
    if not settings.livekit_api_key or not secret:
        raise BadInput(
            "there is no LiveKit key",
            "Start `parley run` once, which makes one, or set LIVEKIT_API_KEY and "
            "LIVEKIT_API_SECRET to those of your server.",
        )
    with clear_errors(place_of(settings)):
        async with api.LiveKitAPI(
            settings.livekit_url,
            settings.livekit_api_key,
            secret,
            timeout=aiohttp.ClientTimeout(total=ANSWER_TIMEOUT_S),
            failover=False,
        ) as client:
            yield client


def place_of(settings: AgentSettings) -> str:
    """Host and port of LiveKit, for errors: never the whole address, which may hold a password."""
    return urlsplit(settings.livekit_url).netloc.rpartition("@")[2] or "LIVEKIT_URL"


@contextmanager
def clear_errors(place: str) -> Iterator[None]:
    """Turn what goes wrong between us and LiveKit into one line and a way out.

    Args:
        place: host and port of the server.

    Raises:
        NotConnected: it does not answer.
        ServiceTrouble: it refuses.
    """
    try:
        yield
    except aiohttp.ClientError as error:
        raise NotConnected(
            f"LiveKit at {place} cannot be reached: {one_line(str(error))}",
            "Start it (`make run PHONE=1`), or set LIVEKIT_URL to where it is.",
        ) from error
    except TimeoutError as error:
        raise NotConnected(
            f"LiveKit at {place} did not answer in time", "Look into its log."
        ) from error
    except api.ServerError as error:
        raise refusal(error, place) from error


def refusal(error: api.ServerError, place: str) -> ServiceTrouble:
    """Why LiveKit refused, and what helps."""
    if error.status in (401, 403) or error.code in ("unauthenticated", "permission_denied"):
        return ServiceTrouble(
            f"LiveKit at {place} refuses the API key",
            "LIVEKIT_API_KEY and LIVEKIT_API_SECRET must be those in the server's own `keys`.",
        )
    if NO_REDIS in error.message:
        return NotConnected(
            f"LiveKit at {place} runs without Redis, which telephone calls need",
            "Start it with `make run PHONE=1`, or give it `redis: {address: ...}`.",
        )
    if error.code == "unavailable":
        return NotConnected(
            f"no telephone bridge (livekit-sip) is connected to LiveKit at {place}",
            "Start it (`make run PHONE=1`); it must use the same Redis and the same key.",
        )
    if error.code == "unknown" and not error.message:  # no error of the kind that LiveKit sends
        return NotConnected(
            f"what answers at {place} is not LiveKit", "Set LIVEKIT_URL to where LiveKit is."
        )
    return ServiceTrouble(f"LiveKit at {place} refuses: {one_line(error.message) or error.code}")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        # reading the port checks it
        return (
            parts.scheme in ("ws", "wss", "http", "https")
            and parts.port != 0
            and bool(parts.hostname)
        )
    except ValueError:
        return False
