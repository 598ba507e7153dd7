"""A real speech server in its own process, on a free loopback port."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.server_process import Server, server_process

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 20.0


@dataclass
class SpeechServer(Server):
    """A running server."""

    api_key: str = ""
    """The key it wants; empty: none."""

    @property
    def ws_url(self) -> str:
        """`ws://127.0.0.1:PORT`, without a slash at the end."""
        return f"ws://127.0.0.1:{self.port}"


def _role_settled(line: str) -> bool:
    return "role ready" in line or "role failed to start" in line


@contextmanager
def speech_server_process(
    roles: tuple[str, ...] = ("stt", "tts"),
    python: str = sys.executable,
    start_timeout_s: float = _START_TIMEOUT_S,
    **settings: str,
) -> Iterator[SpeechServer]:
    """Run `python -m speech_server` and yield once every role is ready or has failed.

    Args:
        roles: the roles to serve.
        python: the interpreter of an environment in which the server is installed.
        start_timeout_s: longest wait for the roles, seconds.
        settings: further settings by their lower-case name without prefix, for example
            `stt_capacity_streams="1"`.
    """
    given = {f"PARLEY_{name.upper()}": value for name, value in settings.items()}
    with server_process(
        [python, "-m", "speech_server"],
        given | {"PARLEY_SPEECH_PORT": "0", "PARLEY_SPEECH_ROLES": ",".join(roles)},
        settled=_role_settled,
        times=len(roles),
        start_timeout_s=start_timeout_s,
        stop_timeout_s=_STOP_TIMEOUT_S,
    ) as up:
        key = settings.get("speech_api_key", "")
        yield SpeechServer(up.process, up.stop_timeout_s, up.port, up.log, key)
