import stat
from pathlib import Path

import pytest
import yaml
from pydantic import SecretStr

from tests.unit.voice_agent.empty_machine import EmptyMachine, program
from voice_agent.stack.errors import StackError
from voice_agent.stack.phone import REDIS_READY, SIP_READY, no_phone_beside, prepare_phone
from voice_agent.stack.redis_server import RedisAddress, new_address
from voice_agent.stack.settings import RunSettings

SETTINGS = RunSettings(phone=True)
PORTS = {"PARLEY_SIP_PORT": 15080, "PARLEY_REDIS_PORT": 16399}
REDIS = RedisAddress(16399, "a-password")


async def phone(machine: EmptyMachine, settings: RunSettings = SETTINGS):  # type: ignore[no-untyped-def]
    machine.home.mkdir(exist_ok=True)
    return await prepare_phone(
        settings,
        machine.home,
        machine.environment,
        ports=PORTS,
        redis=REDIS,
        livekit_url="ws://127.0.0.1:17880",
        credentials=("key", SecretStr("s" * 32)),
        say=machine.said.append,
    )


@pytest.fixture
def machine(tmp_path: Path) -> EmptyMachine:
    machine = EmptyMachine(tmp_path)
    program(machine.bin / "redis-server", "echo Redis server v=7.0.15")
    program(machine.bin / "livekit-sip", "echo SIP version 1.8.0")
    return machine


async def test_both_are_found_told_and_configured_privately(machine: EmptyMachine) -> None:
    prepared = await phone(machine)
    assert prepared.address == "127.0.0.1:15080"
    for line, name in zip(machine.said, ("redis-server 7.0.15", "livekit-sip 1.8.0"), strict=True):
        assert line.startswith(name)
    for path in (prepared.redis_config, prepared.sip_config):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert "a-password" not in repr(REDIS)


async def test_livekit_sip_listens_on_loopback_and_asks_nobody_outside(
    machine: EmptyMachine,
) -> None:
    prepared = await phone(machine)
    config = yaml.safe_load(prepared.sip_config.read_text())
    assert config["listen_ip"] == config["nat_1_to_1_ip"] == "127.0.0.1"
    assert config["use_external_ip"] is False
    assert config["rtp_port"] == "20000-20063"
    assert (config["media_timeout_initial"], config["media_timeout"]) == ("15s", "60s")
    assert config["redis"] == {"address": "127.0.0.1:16399", "password": "a-password"}
    assert (config["api_key"], config["api_secret"]) == ("key", "s" * 32)
    assert config["logging"]["level"] == "info", "at debug it writes the digits it dials"
    assert "health_port" not in config, "it would listen on every interface"


async def test_behind_nat_callers_are_told_the_public_address(machine: EmptyMachine) -> None:
    settings = RunSettings(phone=True, sip_listen="0.0.0.0", sip_address="203.0.113.7")
    prepared = await phone(machine, settings)
    config = yaml.safe_load(prepared.sip_config.read_text())
    assert config["listen_ip"] == "0.0.0.0"
    assert config["nat_1_to_1_ip"] == "203.0.113.7"
    assert prepared.address == "203.0.113.7:15080"


async def test_redis_is_local_asks_for_a_password_and_keeps_the_trunks(
    machine: EmptyMachine,
) -> None:
    prepared = await phone(machine)
    lines = prepared.redis_config.read_text().splitlines()
    for line in ("bind 127.0.0.1", "port 16399", "requirepass a-password", "appendonly yes"):
        assert line in lines
    assert (machine.home / "redis").is_dir()
    assert prepared.redis_program({}).restarts > 0, "calls outlive it, and its data is on disk"
    assert len(new_address(1).password) >= 32
    assert new_address(1).password != new_address(1).password


async def test_what_is_missing_is_named_before_anything_starts(machine: EmptyMachine) -> None:
    (machine.bin / "livekit-sip").unlink()
    with pytest.raises(StackError, match="livekit-sip is missing") as raised:
        await phone(machine)
    for package in ("libopus-dev", "libopusfile-dev", "libsoxr-dev", "pkg-config"):
        assert package in raised.value.fix


def test_a_telephone_beside_a_foreign_livekit_server_is_refused() -> None:
    error = no_phone_beside("wss://media.example")
    assert "wss://media.example" in error.message
    assert "LIVEKIT_URL" in error.fix


def test_readiness_is_read_from_what_they_say() -> None:
    assert REDIS_READY.search("1:M 21 Nov 2026 20:00:00.000 * Ready to accept connections")
    assert REDIS_READY.search("1:M 21 Nov 2026 20:00:00.000 * Ready to accept connections tcp")
    line = "2026-11-21T20:00:00.000Z\tINFO\tsip\tsip/server.go:187\tsip signaling listening on\t"
    assert SIP_READY.search(line + '{"local": "127.0.0.1", "port": 5080, "proto": "tcp"}')
    assert not SIP_READY.search(line + '{"local": "127.0.0.1", "port": 5080, "proto": "udp"}')
