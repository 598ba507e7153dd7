from pathlib import Path

import pytest

from tests.unit.voice_agent.empty_machine import EmptyMachine, program, says_version
from voice_agent.stack.errors import StackError
from voice_agent.stack.livekit_server import LIVEKIT_SERVER
from voice_agent.stack.program_finder import ProgramFinder
from voice_agent.stack.redis_server import REDIS
from voice_agent.stack.sip_server import LIVEKIT_SIP

SOURCE = "mod download -json github.com/livekit/livekit-server@v1.13.5"


@pytest.fixture
def machine(tmp_path: Path) -> EmptyMachine:
    return EmptyMachine(tmp_path)


def finder(machine: EmptyMachine, configured: Path | None = None) -> ProgramFinder:
    return ProgramFinder(
        LIVEKIT_SERVER, machine.home, configured, machine.environment, machine.said.append
    )


async def test_the_setting_wins(machine: EmptyMachine, tmp_path: Path) -> None:
    says_version(machine.bin / "livekit-server")
    configured = says_version(tmp_path / "mine", "1.12.0")
    server = await finder(machine, configured).find()
    assert server is not None
    assert (server.command, server.version) == ((str(configured),), "1.12.0")


@pytest.mark.parametrize(
    "script",
    ["echo livekit-server version 0.15.0", "echo livekit-server version 2.0.0", "echo 7", "exit 1"],
)
async def test_a_set_program_that_will_not_do_is_refused_and_not_replaced(
    machine: EmptyMachine, tmp_path: Path, script: str
) -> None:
    says_version(machine.bin / "livekit-server")
    with pytest.raises(StackError) as raised:
        await finder(machine, program(tmp_path / "mine", script)).find()
    assert "PARLEY_LIVEKIT_SERVER_BIN" in raised.value.fix


async def test_a_set_program_that_is_not_there_is_named(machine: EmptyMachine) -> None:
    with pytest.raises(StackError, match="/nowhere/livekit cannot be run"):
        await finder(machine, Path("/nowhere/livekit")).find()


async def test_path_comes_before_the_built_one(machine: EmptyMachine) -> None:
    on_path = says_version(machine.bin / "livekit-server")
    says_version(machine.home / "bin" / "livekit-server")
    server = await finder(machine).find()
    assert server is not None
    assert server.command == (str(on_path),)


async def test_an_old_one_on_the_path_is_told_and_passed_over(machine: EmptyMachine) -> None:
    says_version(machine.bin / "livekit-server", "1.4.0")
    built = says_version(machine.home / "bin" / "livekit-server")
    server = await finder(machine).find()
    assert server is not None
    assert server.command == (str(built),)
    assert "1.4.0" in machine.said[0]


async def test_it_is_built_with_go_once(machine: EmptyMachine) -> None:
    machine.has_go("livekit-server version 1.13.5")
    for _ in range(2):
        server = await finder(machine).find_or_provide(machine.home / "livekit.yaml")
    assert server.command == (str(machine.home / "bin" / "livekit-server"),)
    assert machine.go_calls()[0] == SOURCE
    assert len(machine.go_calls()) == 2, "fetched once, built once"
    assert [path.name for path in (machine.home / "bin").iterdir()] == ["livekit-server"]


async def test_a_failed_build_falls_back_to_docker(machine: EmptyMachine) -> None:
    program(machine.bin / "go", "echo go: no such version >&2; exit 1")
    program(machine.bin / "docker", "exit 0")
    config = machine.home / "livekit.yaml"
    server = await finder(machine).find_or_provide(config)
    assert LIVEKIT_SERVER.image in server.command
    assert f"{config}:{config}:ro" in server.command
    assert server.cleanup[1:3] == ("rm", "--force")
    assert any("no such version" in line for line in machine.said)


async def test_without_any_way_it_says_what_to_install(machine: EmptyMachine) -> None:
    with pytest.raises(StackError) as raised:
        await finder(machine).find_or_provide(machine.home / "livekit.yaml")
    assert finder(machine).way_to_provide() is None
    for word in ("Go 1.26", "brew install livekit", "Docker"):
        assert word in raised.value.fix


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("redis-server", "Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"),
        ("valkey-server", "Valkey server v=8.1.11 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64"),
    ],
)
async def test_redis_is_found_under_both_of_its_names(
    machine: EmptyMachine, name: str, line: str
) -> None:
    path = program(machine.bin / name, f"echo '{line}'")
    found = await ProgramFinder(
        REDIS, machine.home, None, machine.environment, machine.said.append
    ).find()
    assert found is not None
    assert found.command == (str(path),)


async def test_redis_is_not_built_but_run_in_docker_as_ourselves(machine: EmptyMachine) -> None:
    machine.has_go("not asked")
    find = ProgramFinder(REDIS, machine.home, None, machine.environment, machine.said.append)
    with pytest.raises(StackError, match="redis-server is missing") as raised:
        await find.find_or_provide(machine.home / "redis.conf")
    assert "apt-get install redis-server" in raised.value.fix
    program(machine.bin / "docker", "exit 0")
    found = await find.find_or_provide(machine.home / "redis.conf", machine.home / "redis")
    assert machine.go_calls() == []
    assert f"{machine.home / 'redis'}:{machine.home / 'redis'}" in found.command
    assert found.command[-1] == "valkey-server"
    assert "--user" in found.command


async def test_libraries_that_a_build_lacks_are_named_with_their_packages(
    machine: EmptyMachine,
) -> None:
    machine.has_go("SIP version 1.8.0")
    program(machine.bin / "cc", "exit 0")
    program(machine.bin / "pkg-config", '[ "$2" = opus ]')
    find = ProgramFinder(LIVEKIT_SIP, machine.home, None, machine.environment, machine.said.append)
    with pytest.raises(StackError) as raised:
        await find.find_or_provide(machine.home / "sip.yaml")
    assert "apt-get install libopusfile-dev libsoxr-dev" in raised.value.message
    assert machine.go_calls() == [], "nothing is fetched before it can be built"


async def test_livekit_sip_is_built_with_its_version_stamped(machine: EmptyMachine) -> None:
    machine.has_go("SIP version 1.8.0")
    program(machine.bin / "cc", "exit 0")
    program(machine.bin / "pkg-config", "exit 0")
    find = ProgramFinder(LIVEKIT_SIP, machine.home, None, machine.environment, machine.said.append)
    found = await find.find_or_provide(machine.home / "sip.yaml")
    assert found.version == "1.8.0"
    build = machine.go_calls()[1]
    assert "-X github.com/livekit/sip/version.Version=1.8.0" in build
    assert build.endswith("./cmd/livekit-sip")
