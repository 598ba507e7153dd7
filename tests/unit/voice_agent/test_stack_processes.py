import asyncio
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.stack import still_running
from voice_agent.settings import environment
from voice_agent.stack.errors import StackError
from voice_agent.stack.processes import LINE_MAX_BYTES, ProcessGroup, Program
from voice_agent.stack.readiness import wait_until_ready

READY = re.compile("^up ")
WAIT = "import signal, time; print('up', flush=True) or signal.pause()"
STUBBORN = """
import signal, subprocess, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c",
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"])
print("up", child.pid, flush=True)
signal.pause()
"""
LEAVES_A_CHILD = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
print("up", child.pid, flush=True)
"""


class Lines:
    """A sink that hands out the lines as they come."""

    def __init__(self) -> None:
        self.queue: asyncio.Queue[tuple[str, str]] = asyncio.Queue()

    def process_line(self, name: str, line: str) -> None:
        self.queue.put_nowait((name, line))


def python(name: str, code: str, **more: object) -> Program:
    return Program(name, (sys.executable, "-c", code), environment(), **more)  # type: ignore[arg-type]


async def child_of(lines: Lines) -> psutil.Process:
    _, line = await lines.queue.get()
    return psutil.Process(int(line.split()[1]))


async def test_leaving_the_block_ends_every_program() -> None:
    lines = Lines()
    async with ProcessGroup(lines, stop_timeout_s=10) as group:
        first = await group.start(python("first", WAIT))
        second = await group.start(python("second", WAIT))
        assert {(await lines.queue.get())[0] for _ in range(2)} == {"first", "second"}
        assert first.returncode is None
    assert first.returncode == second.returncode == -signal.SIGTERM


async def test_a_program_that_ignores_sigterm_is_killed_with_its_children() -> None:
    lines = Lines()
    async with ProcessGroup(lines, stop_timeout_s=0.1) as group:
        running = await group.start(python("stubborn", STUBBORN))
        child = await child_of(lines)
    assert running.returncode == -signal.SIGKILL
    assert not still_running([child])


async def test_hurry_kills_without_waiting() -> None:
    lines, hurry = Lines(), asyncio.Event()
    async with ProcessGroup(lines, stop_timeout_s=3600, hurry=hurry) as group:
        running = await group.start(python("stubborn", STUBBORN))
        await child_of(lines)
        hurry.set()
    assert running.returncode == -signal.SIGKILL


async def test_what_a_dead_program_left_behind_is_swept_up() -> None:
    lines = Lines()
    async with ProcessGroup(lines, stop_timeout_s=10) as group:
        await group.start(python("parent", LEAVES_A_CHILD))
        child = await child_of(lines)
        assert (await group.first_exit()).name == "parent"
        assert child.is_running()
    assert not still_running([child])


async def test_a_program_that_ended_is_started_again_in_its_place() -> None:
    lines = Lines()
    async with ProcessGroup(lines, stop_timeout_s=10) as group:
        first = await group.start(python("first", WAIT, restarts=1))
        await group.start(python("second", WAIT))
        assert {(await lines.queue.get())[0] for _ in range(2)} == {"first", "second"}
        first.signal_group(signal.SIGKILL)
        again = await group.restart(await group.first_exit())
        assert await lines.queue.get() == ("first", "up")
        assert [running.name for running in group.running] == ["first", "second"]
        assert group.running[0] is again
        assert again.pid != first.pid
        assert again.program.restarts == 0
    assert again.returncode == -signal.SIGTERM


async def test_programs_end_when_the_block_is_cancelled() -> None:
    lines = Lines()

    async def run() -> None:
        async with ProcessGroup(lines, stop_timeout_s=10) as group:
            await group.start(python("one", WAIT))
            await asyncio.Event().wait()

    # other tests of this process may have left helpers of their own (a resource tracker)
    others = set(psutil.Process().children(recursive=True))
    task = asyncio.create_task(run())
    await lines.queue.get()
    children = set(psutil.Process().children(recursive=True)) - others
    assert children
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not still_running(list(children))


async def test_cleanup_command_runs_after_the_program(tmp_path: Path) -> None:
    lines, mark = Lines(), tmp_path / "cleaned"
    async with ProcessGroup(lines, stop_timeout_s=10) as group:
        await group.start(python("one", WAIT, cleanup=("touch", str(mark))))
        await lines.queue.get()
        assert not mark.exists()
    assert mark.exists()


async def test_a_program_that_does_not_exist_is_named() -> None:
    async with ProcessGroup(Lines(), stop_timeout_s=10) as group:
        with pytest.raises(StackError, match="ghost cannot be started"):
            await group.start(Program("ghost", ("/no/such/program",), environment()))


async def test_endless_lines_and_bytes_that_are_not_text_are_relayed() -> None:
    lines = Lines()
    code = f"import sys; sys.stdout.buffer.write(b'x' * {3 * LINE_MAX_BYTES} + b'\\n\\xff\\n')"
    async with ProcessGroup(lines, stop_timeout_s=10) as group:
        await group.start(python("noisy", code))
        received = ""
        while not received.endswith("\N{REPLACEMENT CHARACTER}"):
            received += (await lines.queue.get())[1]
    assert len(received) == 3 * LINE_MAX_BYTES + 1


async def test_ready_once_the_line_was_written() -> None:
    async with ProcessGroup(Lines(), stop_timeout_s=10) as group:
        await group.start(python("one", "print('up ', flush=True); " + WAIT, ready_line=READY))
        await wait_until_ready(group, timeout_s=60)


async def test_not_ready_in_time_names_the_program_and_its_log() -> None:
    async with ProcessGroup(Lines(), stop_timeout_s=10) as group:
        await group.start(python("slow", WAIT, ready_line=re.compile("never")))
        with pytest.raises(StackError, match=r"slow \(answers, but") as raised:
            await wait_until_ready(group, timeout_s=0.1)
    assert "logs/slow.log" in raised.value.fix


async def test_an_early_end_is_told_instead_of_waiting() -> None:
    async with ProcessGroup(Lines(), stop_timeout_s=10) as group:
        await group.start(python("healthy", WAIT, ready_line=READY))
        await group.start(python("broken", "raise SystemExit(3)", ready_line=READY))
        with pytest.raises(StackError, match="broken ended with status 3"):
            await wait_until_ready(group, timeout_s=3600)


GUARDED = """
import asyncio, signal, sys
sys.path[:0] = {path!r}
from voice_agent.settings import environment
from voice_agent.stack.processes import ProcessGroup, Program

class Sink:
    def process_line(self, name, line):
        print(line, flush=True)

async def main():
    async with ProcessGroup(Sink(), stop_timeout_s=0.2) as group:
        await group.start(Program("one", (sys.executable, "-c", {code!r}), environment(),
            cleanup=("touch", {mark!r})))
        await asyncio.Event().wait()

asyncio.run(main())
"""


def test_sigkill_of_the_runner_itself_leaves_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "cleaned"
    code = GUARDED.format(path=sys.path, code=STUBBORN, mark=str(mark))
    runner = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert runner.stdout is not None
    with runner.stdout:
        assert runner.stdout.readline().startswith("up ")
        started = psutil.Process(runner.pid).children(recursive=True)
        assert len(started) == 3, "the guard, the program and its child"
        runner.kill()
        runner.wait()
    assert not still_running(started)
    assert mark.exists()
