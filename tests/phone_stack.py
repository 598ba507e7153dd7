"""The stack with its telephone, two trunks and the rule that leads calls to the agent."""

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from livekit import api
from livekit.protocol.room import ListRoomsRequest

from tests.isolated_network import NEAR_IPV4
from tests.phone_network import is_inside, livekit_sip
from tests.stack import CHECKOUT, PARLEY, Stack, running_stack
from voice_agent.stack.running_stack import STACK_FILE, RunningStack

NUMBER = "+15550100"
"""Answered for whoever calls from the telephones' address. Numbers with 555-01 are nobody's."""
SECURED_NUMBER = "+15550101"
"""Answered for whoever knows the name and the password."""
USER, PASSWORD = "desk-phone", "correct horse battery staple"
UNKNOWN_NUMBER = "+15550199"

TRUNKS = CHECKOUT / "tests" / "fixtures" / "trunks.yaml"
_POLL_S = 0.1
_APPLY_LIMIT_S = 60.0


@dataclass(frozen=True)
class PhoneStack:
    """A running stack that can be called."""

    stack: Stack
    address: str
    """livekit-sip, `HOST:PORT`."""

    def api(self) -> api.LiveKitAPI:
        """A client of livekit-server's API, to be closed by who asks for it."""
        stack = self.stack
        url = stack.livekit_url.replace("ws", "http", 1)
        return api.LiveKitAPI(url, stack.livekit_api_key, stack.livekit_api_secret)

    @property
    def processes(self) -> Mapping[str, int]:
        """Name → process id, now: Redis may have been started again."""
        path = self.stack.home / STACK_FILE
        return RunningStack.model_validate_json(path.read_bytes()).processes

    async def kill_redis(self) -> None:
        """Kill Redis; returns once another one is there."""
        killed = self.processes["redis"]
        os.kill(killed, signal.SIGKILL)
        while self.processes["redis"] == killed:  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)

    async def rooms(self) -> list[str]:
        """Names of the rooms that exist."""
        async with self.api() as server:
            listed = await server.room.list_rooms(ListRoomsRequest())
        return [room.name for room in listed.rooms]

    async def until_a_room_is_there(self) -> str:
        """Wait for a call's room; return its name."""
        while not (rooms := await self.rooms()):  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)
        (room,) = rooms
        return room

    async def until_no_room_is_left(self) -> None:
        """Wait until every call is over for livekit-server as well."""
        while await self.rooms():  # noqa: ASYNC110
            await asyncio.sleep(_POLL_S)


@pytest.fixture(scope="session")
def phone_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PhoneStack]:
    """One stack with a telephone for the whole test session."""
    if not is_inside():
        pytest.skip("needs a network of its own; `make test-phone` makes one")
    home = tmp_path_factory.mktemp("parley-phone")
    settings = {
        "PARLEY_PHONE": "1",
        "PARLEY_REDIS_PORT": "0",
        "PARLEY_SIP_PORT": "0",
        # Not loopback, from which the softphone does not call.
        "PARLEY_SIP_LISTEN": NEAR_IPV4,
        "PARLEY_LIVEKIT_SIP_BIN": os.fspath(livekit_sip() or ""),
        # So that a test need not wait for what takes a quarter of a minute in use.
        "PARLEY_SIP_FIRST_SOUND_S": "5",
        "PARLEY_SIP_SOUND_GONE_S": "5",
    }
    with running_stack(home, **settings) as stack:
        address = RunningStack.model_validate_json((home / STACK_FILE).read_bytes()).sip_address
        assert address is not None
        apply_trunks(stack, TRUNKS, DESK_PHONE_PASSWORD=PASSWORD)
        yield PhoneStack(stack, address)


def apply_trunks(stack: Stack, file: Path, **variables: str) -> None:
    """Make trunks and rules as an operator does.

    Args:
        stack: where.
        file: which ones, as `parley phone apply` reads it.
        variables: further environment variables of that command.

    Raises:
        AssertionError: it was refused; the message holds what was said.
        subprocess.TimeoutExpired: it took too long.
    """
    apply = subprocess.run(
        [PARLEY, "phone", "apply", "--yes", file],
        env={**stack.environment, "LIVEKIT_URL": stack.livekit_url, **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_APPLY_LIMIT_S,
    )
    assert apply.returncode == 0, apply.stdout
