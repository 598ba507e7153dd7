"""A livekit-server of its own for one test module, on free loopback ports."""

import asyncio
import os
import subprocess
from collections.abc import Iterator, Sequence
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
from voice_agent.stack.redis_server import RedisAddress

KEY, SECRET = "test-key", "test-secret-of-more-than-32-characters"
_START_TIMEOUT_S = 20.0
_HOME = home_dir()
"""Asked for before any test gives the process a home of its own."""


@dataclass(frozen=True)
class LiveKit:
    """A running livekit-server."""

    url: str
    home: Path
    """Its folder; gone with it."""

    def token(self, room: str, identity: str, *, agent: bool = False) -> str:
        """A token for a participant; an agent's may set its own attributes."""
        grants = api.VideoGrants(
            room_join=True, room=room, can_update_own_metadata=agent, agent=agent
        )
        token = api.AccessToken(KEY, SECRET).with_identity(identity).with_grants(grants)
        return token.with_kind("agent" if agent else "standard").to_jwt()

    def ticket(self, room: str) -> JoinTicket:
        """What a caller gets from a token server."""
        return JoinTicket(server_url=self.url, participant_token=self.token(room, "caller"))


@contextmanager
def livekit_process(redis: RedisAddress | None = None) -> Iterator[LiveKit]:
    """Run livekit-server; fails the test, saying why, where there is none.

    Args:
        redis: where it keeps what belongs to the telephone; None: no telephone.
    """
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
            api_key=KEY,
            api_secret=SecretStr(SECRET),
            redis=redis,
        )
        log = Path(folder) / "livekit.log"
        with listening_process([*server.command, "--config", config], log, ports["tcp"]):
            yield LiveKit(f"ws://127.0.0.1:{ports['tcp']}", Path(folder))


@contextmanager
def listening_process(command: Sequence[str | Path], log: Path, port: int) -> Iterator[None]:
    """Run a program that listens on a port of loopback, and has no other sign of being ready.

    Args:
        command: the program and its arguments.
        log: file for what it says.
        port: on which it will listen.

    Raises:
        RuntimeError: it ended instead.
        TimeoutError: it did neither.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        asyncio.run(asyncio.wait_for(_listens(process, port), _START_TIMEOUT_S))
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended:\n{log.read_text()}")
        yield
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


async def _listens(process: subprocess.Popen[bytes], port: int) -> None:
    """Connect until somebody listens, or the process has ended."""
    while process.poll() is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            with closing(writer):
                return
