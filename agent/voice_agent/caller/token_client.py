"""Asks the token server for a caller's token, the way LiveKit's own clients do (TokenSource)."""

import json
from dataclasses import dataclass

import aiohttp
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from voice_agent.caller.errors import BadInput, CallFailed, CallFailure

TOKEN_PATH = "/api/token"
REQUEST_TIMEOUT_S = 10.0
"""Longest wait for the token server, seconds."""
MAX_ANSWER_BYTES = 64 * 1024
"""A token answer is about 1 kB."""
_MAX_QUOTED = 300
"""Characters of a refusal that are worth repeating to a person."""


class JoinTicket(BaseModel):
    """Where to join and with which token. Field names are the TokenSource contract's."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    server_url: str = Field(pattern=r"^(wss?|https?)://")
    """WebSocket URL of livekit-server."""
    participant_token: str = Field(min_length=1)
    """Access token; it names the room and asks for the agent."""


@dataclass(frozen=True)
class TokenRequest:
    """What a caller asks for; None: the token server's own choice."""

    agent: str | None = None
    persona: str | None = None
    auth_token: str | None = None
    """The visitor's own JWT, for a token server that asks for one."""

    def body(self) -> dict[str, object]:
        """The request as JSON, snake_case."""
        dispatch: dict[str, str] = {}
        if self.agent is not None:
            dispatch["agent_name"] = self.agent
        if self.persona is not None:
            dispatch["metadata"] = json.dumps({"persona": self.persona})
        if not dispatch:
            return {}
        return {"room_config": {"agents": [dispatch]}}


async def fetch_ticket(base_url: str, request: TokenRequest) -> JoinTicket:
    """Ask `base_url` for a token.

    Raises:
        BadInput: `base_url` is not an HTTP URL.
        CallFailed: the server cannot be reached, refuses, or answers something else.
    """
    if not base_url.startswith(("http://", "https://")):
        raise BadInput(f"--url must start with http:// or https://, got {base_url!r}")
    headers = {}
    if request.auth_token is not None:
        headers["Authorization"] = f"Bearer {request.auth_token}"
    url = base_url.rstrip("/") + TOKEN_PATH
    try:
        async with (
            aiohttp.ClientSession(
                timeout=aiohttp.ClientTimeout(total=REQUEST_TIMEOUT_S)
            ) as session,
            session.post(url, json=request.body(), headers=headers) as response,
        ):
            answer = await _read_bounded(response)
            status = response.status
    except aiohttp.InvalidURL:
        raise BadInput(f"--url is not a URL: {base_url!r}") from None
    except TimeoutError:
        raise CallFailed(
            CallFailure.UNREACHABLE,
            f"the token server at {base_url} did not answer within {REQUEST_TIMEOUT_S:.0f} s",
        ) from None
    except (aiohttp.ClientError, OSError) as error:
        raise CallFailed(
            CallFailure.UNREACHABLE,
            f"no token server at {base_url} ({error}); is it running? `parley run` starts it",
        ) from None
    if status != 201:
        raise CallFailed(
            CallFailure.TOKEN_REFUSED,
            f"the token server refused the call (HTTP {status}): {_reason(answer)}",
        )
    try:
        return JoinTicket.model_validate_json(answer)
    except ValidationError:
        raise CallFailed(
            CallFailure.TOKEN_REFUSED,
            f"{url} answered something that is not a token; is it Parley's token server?",
        ) from None


async def _read_bounded(response: aiohttp.ClientResponse) -> bytes:
    """At most `MAX_ANSWER_BYTES`; what is longer is cut and will not parse."""
    answer = bytearray()
    async for chunk in response.content.iter_any():
        answer += chunk
        if len(answer) >= MAX_ANSWER_BYTES:
            break
    return bytes(answer[:MAX_ANSWER_BYTES])


def _reason(answer: bytes) -> str:
    """The server's words for a person: its JSON message where there is one, else its text."""
    text = answer.decode("utf-8", errors="replace")
    try:
        body = json.loads(text)
    except ValueError:
        body = None
    while isinstance(body, dict):
        body = next((body[k] for k in ("message", "detail", "error") if body.get(k)), None)
    if isinstance(body, list):
        body = "; ".join(
            str(item.get("msg", item) if isinstance(item, dict) else item) for item in body
        )
    words = body if isinstance(body, str) else text
    printable = "".join(c if c.isprintable() else " " for c in words).strip()
    return printable[:_MAX_QUOTED] or "no reason given"
