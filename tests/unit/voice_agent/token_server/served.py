"""A token server for tests: its settings, and what its answers hold."""

from collections.abc import Callable
from typing import Any

import httpx
from fastapi.testclient import TestClient
from livekit.api import TokenVerifier
from livekit.api.access_token import Claims

from voice_agent.settings import TokenServerSettings

KEY = "key-of-the-tests"
SECRET = "secret-of-the-tests-with-32-chars-or-more"
CALLER_SECRET = "secret-of-the-operators-site-32-chars-or-more"

MakeClient = Callable[..., TestClient]


def settings(**overrides: Any) -> TokenServerSettings:
    values = {"livekit_api_key": KEY, "livekit_api_secret": SECRET, **overrides}
    return TokenServerSettings(_env_file=None, **values)


def claims_of(answer: httpx.Response) -> Claims:
    assert answer.status_code == 201, answer.text
    return TokenVerifier(KEY, SECRET).verify(answer.json()["participant_token"])


def message_of(answer: httpx.Response, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["cache-control"] == "no-store"
    return str(answer.json()["error"]["message"])
