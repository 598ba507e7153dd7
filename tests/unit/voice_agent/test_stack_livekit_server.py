import os
import stat
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from voice_agent.stack.errors import StackError
from voice_agent.stack.livekit_server import IMAGE, LiveKitServerFinder, write_config


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def says_version(path: Path, version: str = "1.13.5") -> Path:
    return program(path, f"echo livekit-server version {version}")


class Machine:
    """A machine whose PATH holds only what a test puts there."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.bin.mkdir()
        self.said: list[str] = []
        # /bin is there for the test's own shell scripts; neither Go nor Docker lies in it.
        for tool in ("mkdir", "cp", "chmod", "cat", "sh"):
            (self.bin / tool).symlink_to(f"/bin/{tool}")

    def finder(self, configured: Path | None = None) -> LiveKitServerFinder:
        environment = {"PATH": str(self.bin)}
        return LiveKitServerFinder(self.home, configured, environment, self.said.append)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_the_setting_wins(machine: Machine, tmp_path: Path) -> None:
    says_version(machine.bin / "livekit-server")
    configured = says_version(tmp_path / "mine", "1.12.0")
    server = await machine.finder(configured).find()
    assert server is not None
    assert (server.command, server.version) == ((str(configured),), "1.12.0")


@pytest.mark.parametrize(
    "script",
    ["echo livekit-server version 0.15.0", "echo livekit-server version 2.0.0", "echo 7", "exit 1"],
)
async def test_a_set_program_that_will_not_do_is_refused_and_not_replaced(
    machine: Machine, tmp_path: Path, script: str
) -> None:
    says_version(machine.bin / "livekit-server")
    with pytest.raises(StackError) as raised:
        await machine.finder(program(tmp_path / "mine", script)).find()
    assert "PARLEY_LIVEKIT_SERVER_BIN" in raised.value.fix


async def test_a_set_program_that_is_not_there_is_named(machine: Machine) -> None:
    with pytest.raises(StackError, match="/nowhere/livekit cannot be run"):
        await machine.finder(Path("/nowhere/livekit")).find()


async def test_path_comes_before_the_built_one(machine: Machine) -> None:
    on_path = says_version(machine.bin / "livekit-server")
    says_version(machine.home / "bin" / "livekit-server")
    server = await machine.finder().find()
    assert server is not None
    assert server.command == (str(on_path),)


async def test_an_old_one_on_the_path_is_told_and_passed_over(machine: Machine) -> None:
    says_version(machine.bin / "livekit-server", "1.4.0")
    built = says_version(machine.home / "bin" / "livekit-server")
    server = await machine.finder().find()
    assert server is not None
    assert server.command == (str(built),)
    assert "1.4.0" in machine.said[0]


async def test_it_is_built_with_go_once(machine: Machine) -> None:
    program(
        machine.bin / "go",
        'echo "$@" >> $GOBIN/../../calls\n'
        'printf "#!/bin/sh\\necho livekit-server version 1.13.5\\n" > $GOBIN/server\n'
        "chmod +x $GOBIN/server",
    )
    for _ in range(2):
        server = await machine.finder().find_or_provide(machine.home / "livekit.yaml")
    assert server.command == (str(machine.home / "bin" / "livekit-server"),)
    calls = (machine.home / "calls").read_text().splitlines()
    assert calls == ["install -v github.com/livekit/livekit-server/cmd/server@v1.13.5"]
    assert os.listdir(machine.home / "bin") == ["livekit-server"]


async def test_a_failed_build_falls_back_to_docker(machine: Machine) -> None:
    program(machine.bin / "go", "echo go: no such version >&2; exit 1")
    program(machine.bin / "docker", "exit 0")
    config = machine.home / "livekit.yaml"
    server = await machine.finder().find_or_provide(config)
    assert IMAGE in server.command
    assert f"{config}:{config}:ro" in server.command
    assert server.cleanup[1:3] == ("rm", "--force")
    assert any("no such version" in line for line in machine.said)


async def test_without_any_way_it_says_what_to_install(machine: Machine) -> None:
    with pytest.raises(StackError) as raised:
        await machine.finder().find_or_provide(machine.home / "livekit.yaml")
    assert machine.finder().way_to_provide() is None
    for word in ("Go 1.26", "brew install livekit", "Docker"):
        assert word in raised.value.fix


def test_the_configuration_is_private_local_and_bounded(tmp_path: Path) -> None:
    path = write_config(
        tmp_path, port=17880, udp_port=17882, api_key="key", api_secret=SecretStr("s" * 32)
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    config = yaml.safe_load(path.read_text())
    assert config["bind_addresses"] == ["127.0.0.1"]
    assert config["keys"] == {"key": "s" * 32}
    rtc = config["rtc"]
    assert rtc["tcp_port"] == 0, "left out, it opens 7881 on every interface"
    assert rtc["stun_servers"] == ["127.0.0.1:3478"], "left out, clients call public STUN servers"
    assert rtc["use_external_ip"] is False
    assert rtc["udp_port"] == 17882
    assert all(value > 0 for value in config["limit"].values())
    assert config["room"]["max_participants"] > 1
