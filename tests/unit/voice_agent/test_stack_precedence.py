import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from voice_agent.settings import environment
from voice_agent.stack import precedence
from voice_agent.stack.precedence import give_way
from voice_agent.stack.processes import ProcessGroup, Program
from voice_agent.stack.settings import RunSettings

STARTS_ANOTHER = """
import subprocess, sys
if sys.stdin.readline():
    child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    print(child.pid, flush=True)
    sys.stdin.readline()
    child.kill()
"""
WAIT = "import signal; signal.pause()"
OURS = os.getpriority(os.PRIO_PROCESS, 0)


class Silence:
    """A sink for programs that say nothing."""

    def process_line(self, name: str, line: str) -> None:
        raise AssertionError(f"{name}: {line}")


@pytest.fixture
def started() -> Iterator[subprocess.Popen[str]]:
    """A program with a session of its own, which starts another one when it is told to."""
    with subprocess.Popen(
        [sys.executable, "-c", STARTS_ANOTHER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process


def test_a_program_and_all_that_it_starts_go_after_others(started: subprocess.Popen[str]) -> None:
    asyncio.run(give_way(started.pid, 3))
    assert started.stdin is not None
    assert started.stdout is not None
    started.stdin.write("\n")
    started.stdin.flush()
    child = psutil.Process(int(started.stdout.readline()))
    assert psutil.Process(started.pid).nice() == child.nice() == min(OURS + 3, 19)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="no groups by session here")
def test_its_session_goes_after_others_as_well(started: subprocess.Popen[str]) -> None:
    asyncio.run(give_way(started.pid, 3))
    assert Path(f"/proc/{started.pid}/autogroup").read_text().endswith("nice 3\n")


def test_models_give_way_where_there_is_a_telephone() -> None:
    settings = RunSettings(_env_file=None, phone=True, niceness=7)
    assert settings.lowered_by == 7
    assert settings.model_copy(update={"phone": False}).lowered_by == 0


async def test_an_order_that_came_too_soon_is_given_again(
    started: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[int] = []
    refusals = [BlockingIOError(), BlockingIOError()]

    def lower_session(pid: int, niceness: int) -> None:
        if refusals:
            raise refusals.pop()
        taken.append(niceness)

    monkeypatch.setattr(precedence, "lower_session", lower_session)
    monkeypatch.setattr(precedence, "_AGAIN_S", 0.0)
    await give_way(started.pid, 3)
    assert taken == [3]


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(BlockingIOError, id="never taken"),
        pytest.param(FileNotFoundError, id="not shared by session"),
    ],
)
async def test_where_a_session_cannot_be_lowered_the_program_alone_is(
    refusal: type[OSError], started: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lower_session(pid: int, niceness: int) -> None:
        raise refusal

    monkeypatch.setattr(precedence, "lower_session", lower_session)
    monkeypatch.setattr(precedence, "_AGAIN_S", 0.0)
    await give_way(started.pid, 3)
    assert psutil.Process(started.pid).nice() == min(OURS + 3, 19)


def test_a_program_that_has_ended_meanwhile_is_no_error() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    asyncio.run(give_way(process.pid, 3))


async def test_only_programs_that_carry_no_sound_give_way() -> None:
    command = (sys.executable, "-c", WAIT)
    async with ProcessGroup(Silence(), stop_timeout_s=10, niceness=3) as group:
        sound = await group.start(Program("sound", command, environment(), carries_sound=True))
        model = await group.start(Program("model", command, environment()))
        assert psutil.Process(sound.pid).nice() == OURS
        assert psutil.Process(model.pid).nice() == min(OURS + 3, 19)
