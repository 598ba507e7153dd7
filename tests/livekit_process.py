"""A livekit-server of its own for one test module, on free loopback ports."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from livekit import api
from pydantic import SecretStr

from voice_agent.caller.token_client import JoinTicket
from voice_agent.settings import home_dir
from voice_agent.stack.livekit_server import livekit_server_finder, write_config
from voice_agent.stack.ports import PortWish, settle_ports

_KEY, _SECRET = "test-key", "test-secret-of-more-than-32-characters"
_START_TIMEOUT_S = 20.0
_HOME = home_dir()
"""Asked for before any test gives the process a home of its own."""


@dataclass(frozen=True)
class LiveKit:
    """A running livekit-server."""

    url: str

    def token(self, room: str, identity: str, *, agent: bool = False) -> str:
        """A token for a participant; an agent's may set its own attributes."""
        grants = api.VideoGrants(
            room_join=True, room=room, can_update_own_metadata=agent, agent=agent
        )
        token = api.AccessToken(_KEY, _SECRET).with_identity(identity).with_grants(grants)
        return token.with_kind("agent" if agent else "standard").to_jwt()

    def ticket(self, room: str) -> JoinTicket:
        """What a caller gets from a token server."""
        return JoinTicket(server_url=self.url, participant_token=self.token(room, "caller"))


@contextmanager
def livekit_process() -> Iterator[LiveKit]:
    """Run livekit-server; fails the test, saying why, where there is none."""
    finder = livekit_server_finder(_HOME, None, os.environ, lambda _: None)
    server = asyncio.run(finder.find())
    if server is None:
        pytest.fail("livekit-server is not installed: run `parley setup`, as `make test` does")
    ports = settle_ports(
        [PortWish("livekit", "tcp", 0), PortWish("livekit", "udp", 0, transport="udp")]
    )
    with TemporaryDirectory() as folder:
        config = write_config(
            Path(folder),
            port=ports["tcp"],
            udp_port=ports["udp"],
            api_key=_KEY,
            api_secret=SecretStr(_SECRET),
        )
        with (Path(folder) / "log").open("wb") as log:
            process = subprocess.Popen(
                [*server.command, "--config", str(config)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait_for_port(process, ports["tcp"], Path(folder) / "log")
            yield LiveKit(f"ws://127.0.0.1:{ports['tcp']}")
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Connect until somebody listens: livekit-server has no other sign of being ready."""

    async def connect() -> bool:
        while process.poll() is None:
            with closing(socket.socket()) as probe:
                probe.setblocking(False)
                try:
                    await asyncio.get_running_loop().sock_connect(probe, ("127.0.0.1", port))
                except ConnectionRefusedError:
                    await asyncio.sleep(0.05)
                else:
                    return True
        return False

    if not asyncio.run(asyncio.wait_for(connect(), _START_TIMEOUT_S)):
        raise RuntimeError("livekit-server ended:\n" + log.read_text())
