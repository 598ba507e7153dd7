"""A livekit-server with its Redis, without livekit-sip: trunks are kept, and nothing rings."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from livekit import api
from pydantic import SecretStr
from typer.testing import CliRunner, Result

from voice_agent.cli import app
from voice_agent.settings import home_dir
from voice_agent.stack.livekit_server import livekit_server_finder, write_config
from voice_agent.stack.ports import PortWish, settle_ports
from voice_agent.stack.redis_server import RedisAddress, new_address, write_redis_config

KEY, SECRET = "test-key", "test-secret-of-more-than-32-characters"
_START_TIMEOUT_S = 20.0
_HOME = home_dir()


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
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, str]]:
    """Port and password of a Redis of our own."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("Redis is not installed (Debian: apt-get install redis-server)")
    home = tmp_path_factory.mktemp("redis")
    address = new_address(settle_ports([PortWish("Redis", "port", 0)])["port"])
    config = write_redis_config(home, address)
    with _running([program, config], home / "redis.log", address.port):
        yield address.port, address.password


@pytest.fixture(scope="session")
def shared_server(
    redis_port: tuple[int, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PhoneServer]:
    home = tmp_path_factory.mktemp("livekit")
    with _livekit(home, redis_port) as server:
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
def server_without_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PhoneServer]:
    with _livekit(tmp_path_factory.mktemp("livekit-alone"), None) as server:
        yield server


@contextmanager
def _livekit(home: Path, redis: tuple[int, str] | None) -> Iterator[PhoneServer]:
    found = asyncio.run(livekit_server_finder(_HOME, None, os.environ, lambda _: None).find())
    if found is None:
        pytest.fail("livekit-server is not installed: run `parley setup`, as `make test` does")
    ports = settle_ports(
        [PortWish("livekit", "tcp", 0), PortWish("livekit", "udp", 0, transport="udp")]
    )
    config = write_config(
        home,
        port=ports["tcp"],
        udp_port=ports["udp"],
        api_key=KEY,
        api_secret=SecretStr(SECRET),
        redis=None if redis is None else RedisAddress(*redis),
    )
    with _running([*found.command, "--config", config], home / "livekit.log", ports["tcp"]):
        yield PhoneServer(f"ws://127.0.0.1:{ports['tcp']}", home)


@contextmanager
def _running(command: list[str | Path], log: Path, port: int) -> Iterator[None]:
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
