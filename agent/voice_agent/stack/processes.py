"""Starts programs as process groups of their own, relays what they write, and ends them all."""

import asyncio
import contextlib
import json
import logging
import os
import re
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from voice_agent.stack import guard
from voice_agent.stack.errors import StackError
from voice_agent.stack.precedence import give_way

logger = logging.getLogger(__name__)

LINE_MAX_BYTES = 65_536
"""Longest line relayed as one; a longer one is cut into several."""
SWEEP_WAIT_S = 2.0
"""How long output may still arrive after the last process of a group was killed, seconds."""


@dataclass(frozen=True)
class Program:
    """A program to run.

    Attributes:
        name: short name, the prefix of its lines and the name of its log file.
        command: program and arguments.
        environment: its whole environment.
        cwd: its working folder.
        ready_url: answers 200 once the program can be used; None: nothing to ask.
        ready_line: a line it writes once it can be used; None: nothing to wait for.
        cleanup: command that removes what the program leaves behind when it is killed.
        after_others: start it only when those started before are ready.
        restarts: how often it may be started again when it ends by itself.
        carries_sound: sound is lost where it waits for a processor, so it goes before the others.
    """

    name: str
    command: Sequence[str | Path]
    environment: Mapping[str, str] = field(repr=False)
    cwd: Path | None = None
    ready_url: str | None = None
    ready_line: re.Pattern[str] | None = None
    cleanup: Sequence[str] = ()
    after_others: bool = False
    restarts: int = 0
    carries_sound: bool = False


class LineSink(Protocol):
    """Takes the lines that processes write."""

    def process_line(self, name: str, line: str) -> None:
        """A line that a process wrote."""
        ...


class RunningProgram:
    """A program that was started: one process group."""

    def __init__(
        self, program: Program, process: asyncio.subprocess.Process, output: asyncio.StreamReader
    ) -> None:
        self.program = program
        self.pid = process.pid
        self.announced_ready = asyncio.Event()
        """Set once the program wrote its `ready_line`, or at once where it has none."""
        if program.ready_line is None:
            self.announced_ready.set()
        self._process = process
        self._output = output

    @property
    def name(self) -> str:
        """Short name."""
        return self.program.name

    @property
    def returncode(self) -> int | None:
        """Exit status, negative for a signal; None while it runs."""
        return self._process.returncode

    async def wait(self) -> int:
        """Wait until the group's leader has ended; return its exit status."""
        return await self._process.wait()

    def terminate(self) -> None:
        """Ask the group's leader to end; it knows best how to end what it started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()

    def signal_group(self, number: int) -> None:
        """Signal every process of the group; nothing when all have ended."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)

    async def relay(self, sink: LineSink) -> None:
        """Pass its lines on until every process of the group has closed the pipe."""
        while raw := await _read_line(self._output):
            line = raw.decode("utf-8", "replace").rstrip("\r\n")
            sink.process_line(self.name, line)
            ready_line = self.program.ready_line
            if ready_line is not None and ready_line.search(line):
                self.announced_ready.set()


class ProcessGroup:
    """The programs of one stack. When the block is left, none of them is left running.

    Each program gets a session and a process group of its own, so a Ctrl-C in the terminal reaches
    only us and we end them in order: last started, first stopped. A guard process ends them when
    we cannot (see `guard`).

    Args:
        sink: takes what the programs write.
        stop_timeout_s: time a program has after SIGTERM, seconds.
        hurry: once set, programs are killed without waiting; None for never.
        niceness: by how much all others go after the programs that carry sound, 0 to 19.
    """

    def __init__(
        self,
        sink: LineSink,
        *,
        stop_timeout_s: float,
        hurry: asyncio.Event | None = None,
        niceness: int = 0,
    ) -> None:
        self._sink = sink
        self._stop_timeout_s = stop_timeout_s
        self._niceness = niceness
        self._hurry = hurry or asyncio.Event()
        self._running: list[RunningProgram] = []
        self._relays: dict[str, asyncio.Task[None]] = {}
        self._guard: asyncio.subprocess.Process | None = None

    async def __aenter__(self) -> "ProcessGroup":
        self._guard = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-S", guard.__file__, str(self._stop_timeout_s),
            stdin=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        # Shielded: a second Ctrl-C must not leave half of the programs behind.
        await asyncio.shield(self._end())

    @property
    def running(self) -> tuple[RunningProgram, ...]:
        """The programs, in the order they were started."""
        return tuple(self._running)

    async def start(self, program: Program) -> RunningProgram:
        """Start a program.

        Raises:
            StackError: it cannot be executed.
        """
        command = [str(part) for part in program.command]
        # A pipe of our own: with asyncio's, wait() would last until every grandchild closed it.
        read_end, write_end = os.pipe()
        output = await _open_reader(read_end)
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=write_end,
                stderr=write_end,
                env=dict(program.environment),
                cwd=program.cwd,
                start_new_session=True,
            )
        except OSError as error:
            raise StackError(f"{program.name} cannot be started: {error}") from error
        finally:
            os.close(write_end)
        self._tell_guard(f"+{process.pid}")
        if program.cleanup:
            self._tell_guard("!" + json.dumps(list(program.cleanup)))
        running = RunningProgram(program, process, output)
        self._running.append(running)
        self._relays[program.name] = asyncio.create_task(running.relay(self._sink))
        if self._niceness and not program.carries_sound:
            await give_way(process.pid, self._niceness)
        return running

    async def first_exit(self) -> RunningProgram:
        """Wait until one of the programs has ended; return it."""
        waits = {asyncio.create_task(running.wait()): running for running in self._running}
        try:
            done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waits:
                task.cancel()
        return waits[done.pop()]

    async def restart(self, ended: RunningProgram) -> RunningProgram:
        """Start a program again that has ended, in its place among the others.

        Raises:
            StackError: it cannot be executed.
        """
        await self._stop(ended)
        place = self._running.index(ended)
        del self._running[place]
        running = await self.start(replace(ended.program, restarts=ended.program.restarts - 1))
        self._running.insert(place, self._running.pop())
        return running

    async def _end(self) -> None:
        for running in reversed(self._running):
            await self._stop(running)
        if self._guard is not None:
            assert self._guard.stdin is not None
            self._guard.stdin.close()
            await self._guard.wait()

    async def _stop(self, running: RunningProgram) -> None:
        if running.returncode is None:
            running.terminate()
            exit_, hurry = (
                asyncio.create_task(running.wait()),
                asyncio.create_task(self._hurry.wait()),
            )
            await asyncio.wait(
                [exit_, hurry],
                timeout=self._stop_timeout_s,
                return_when=asyncio.FIRST_COMPLETED,
            )
            exit_.cancel()
            hurry.cancel()
        # Also when the leader ended by itself: what it started must not outlive it.
        running.signal_group(signal.SIGKILL)
        await running.wait()
        relay = self._relays[running.name]
        await asyncio.wait([relay], timeout=SWEEP_WAIT_S)
        if not relay.done():
            relay.cancel()
        if running.program.cleanup:
            cleanup = await asyncio.create_subprocess_exec(
                *running.program.cleanup,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
            )
            await cleanup.wait()
        self._tell_guard(f"-{running.pid}")

    def _tell_guard(self, line: str) -> None:
        assert self._guard is not None
        assert self._guard.stdin is not None
        if self._guard.returncode is None:
            self._guard.stdin.write(f"{line}\n".encode())
        else:
            logger.warning("guard process has ended", extra={"status": self._guard.returncode})


async def _open_reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=LINE_MAX_BYTES)
    # The transport closes the pipe at its end; until then it also keeps the reader fed.
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", buffering=0)
    )
    return reader


async def _read_line(stream: asyncio.StreamReader) -> bytes:
    """One line, or a piece of one that is longer than the limit; empty at the end."""
    try:
        return await stream.readuntil(b"\n")
    except asyncio.IncompleteReadError as error:
        return error.partial
    except asyncio.LimitOverrunError:
        return await stream.read(LINE_MAX_BYTES)
