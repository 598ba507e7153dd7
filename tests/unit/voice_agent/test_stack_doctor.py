from pathlib import Path

import pytest

from tests.unit.voice_agent.empty_machine import EmptyMachine, program
from voice_agent.stack.diagnosis import Finding
from voice_agent.stack.doctor import check_program
from voice_agent.stack.phone import phone_finders
from voice_agent.stack.settings import RunSettings

SETTINGS = RunSettings(phone=True)


@pytest.fixture
def machine(tmp_path: Path) -> EmptyMachine:
    return EmptyMachine(tmp_path)


async def findings(machine: EmptyMachine, settings: RunSettings = SETTINGS) -> list[Finding]:
    finders = phone_finders(settings, machine.home, machine.environment, machine.said.append)
    return [await check_program(finder) for finder in finders]


async def test_what_the_telephone_needs_is_found(machine: EmptyMachine) -> None:
    program(machine.bin / "redis-server", "echo Redis server v=7.0.15")
    program(machine.bin / "livekit-sip", "echo SIP version 1.8.0")
    redis, sip = await findings(machine)
    assert (redis.status, sip.status) == ("ok", "ok")
    assert redis.detail.startswith("7.0.15")
    assert sip.detail.startswith("1.8.0")


async def test_what_can_be_had_is_a_note_and_what_cannot_a_problem(machine: EmptyMachine) -> None:
    machine.has_go("not asked")
    redis, sip = await findings(machine)
    assert (redis.subject, redis.status) == ("redis-server", "problem")
    assert "apt-get install redis-server" in redis.fix
    assert (sip.subject, sip.status, sip.fix) == ("livekit-sip", "note", "parley setup")
    assert "v1.8.0" in sip.detail


async def test_a_set_program_that_is_too_old_is_named(
    machine: EmptyMachine, tmp_path: Path
) -> None:
    old = program(tmp_path / "redis", "echo Redis server v=4.0.9")
    redis, _ = await findings(machine, RunSettings(phone=True, redis_server_bin=old))
    assert redis.status == "problem"
    assert "4.0.9" in redis.detail
    assert "PARLEY_REDIS_SERVER_BIN" in redis.fix
