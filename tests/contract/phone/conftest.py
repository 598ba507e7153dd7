"""A livekit-server with its Redis, without livekit-sip: trunks are kept, and nothing rings."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from livekit import api
from typer.testing import CliRunner, Result

from tests.livekit_process import KEY, SECRET, listening_process, livekit_process
from voice_agent.cli import app
from voice_agent.settings import home_dir
from voice_agent.stack.ports import PortWish, settle_ports
from voice_agent.stack.redis_server import RedisAddress, new_address, write_redis_config


@dataclass(frozen=True)
class PhoneServer:
    """A running livekit-server, and the commands that use it."""

    url: str
    home: Path

    def client(self) -> api.LiveKitAPI:
        """A client, to be closed by who asks for it."""
        return api.LiveKitAPI(self.url, KEY, SECRET)

    def parley(self, *arguments: str | Path, typed: str = "", **variables: str) -> Result:
        """Run `parley phone …`; it must end with an exit status, not with a traceback."""
        environment = {
            "PARLEY_HOME": os.fspath(self.home),
            "LIVEKIT_URL": self.url,
            "LIVEKIT_API_KEY": KEY,
            "LIVEKIT_API_SECRET": SECRET,
            **variables,
        }
        words = ["phone", *(str(argument) for argument in arguments)]
        home_dir.cache_clear()
        result = CliRunner().invoke(app, words, input=typed, env=environment)
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        assert "Traceback" not in result.output
        return result


@pytest.fixture(scope="session")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisAddress]:
    """A Redis of our own."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    home = tmp_path_factory.mktemp("redis")
    address = new_address(settle_ports([PortWish("Redis", "port", 0)])["port"])
    config = write_redis_config(home, address)
    with listening_process([program, config], home / "redis.log", address.port):
        yield address


@pytest.fixture(scope="session")
def shared_server(redis: RedisAddress) -> Iterator[PhoneServer]:
    with _livekit(redis) as server:
        yield server


@pytest.fixture
def phone_server(shared_server: PhoneServer) -> Iterator[PhoneServer]:
    """The server without any trunk, rule or room."""
    yield shared_server
    asyncio.run(_empty(shared_server))


async def _empty(server: PhoneServer) -> None:
    async with server.client() as client:
        for rule in (await client.sip.list_dispatch_rule(api.ListSIPDispatchRuleRequest())).items:
            await client.sip.delete_dispatch_rule(
                api.DeleteSIPDispatchRuleRequest(sip_dispatch_rule_id=rule.sip_dispatch_rule_id)
            )
        inbound = (await client.sip.list_inbound_trunk(api.ListSIPInboundTrunkRequest())).items
        outbound = (await client.sip.list_outbound_trunk(api.ListSIPOutboundTrunkRequest())).items
        for trunk in (*inbound, *outbound):
            await client.sip.delete_trunk(
                api.DeleteSIPTrunkRequest(sip_trunk_id=trunk.sip_trunk_id)
            )
        for room in (await client.room.list_rooms(api.ListRoomsRequest())).rooms:
            await client.room.delete_room(api.DeleteRoomRequest(room=room.name))


@pytest.fixture(scope="session")
def server_without_redis() -> Iterator[PhoneServer]:
    with _livekit(None) as server:
        yield server


@contextmanager
def _livekit(redis: RedisAddress | None) -> Iterator[PhoneServer]:
    with livekit_process(redis) as server:
        yield PhoneServer(server.url, server.home)
