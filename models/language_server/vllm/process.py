"""One vLLM as a process, with what it starts itself, and a sure end for all of them."""

import asyncio
import contextlib
import re
import sys
from collections import deque
from typing import Final

import psutil

from language_server.vllm.command import Command

STOP_S: Final = 10.0
"""Time to end after SIGTERM, seconds; what is left then is killed."""
_LOOK_S: Final = 0.1
_LINE_MAX_BYTES: Final = 65_536
_REMEMBERED_LINES: Final = 400
_REASON_CHARS: Final = 300
_PLACE: Final = re.compile(r"^(?:\(\S+ pid=\d+\) )?(?:ERROR .*?\] )?")
"""What vLLM puts before a line: its process, and where in its code it is."""
_ERROR: Final = re.compile(r"(?:\w+\.)*\w+(?:Error|Exception): ?.*$")
"""Last line of a traceback."""
_NO_REASON: Final = "Engine core initialization failed"
"""Says that something was said before."""


class VllmProcess:
    """Runs until it is stopped or dies.

    Args:
        command: what to start.
    """

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process: asyncio.subprocess.Process | None = None
        self._family: set[psutil.Process] = set()
        self._lines: deque[str] = deque(maxlen=_REMEMBERED_LINES)
        self._relaying: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int | None:
        """Of the process that was started itself."""
        return self._process.pid if self._process else None

    async def start(self) -> None:
        """Start it; loading the model has then only begun.

        Raises:
            OSError: it cannot be executed.
        """
        self._process = await asyncio.create_subprocess_exec(
            *self._command.arguments,
            env=dict(self._command.environment),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            limit=_LINE_MAX_BYTES,
        )
        self._relaying = asyncio.create_task(self._relay())

    async def wait(self) -> int:
        """Wait until it has ended; return its exit status."""
        assert self._process is not None
        # Not `wait()`, which also waits for the pipe that its children still hold.
        while self._process.returncode is None:  # noqa: ASYNC110  (a process sets no event)
            await asyncio.sleep(_LOOK_S)
        return self._process.returncode

    def note_family(self) -> None:
        """Learn which processes it has started: they may outlive it, and then nobody knows."""
        with contextlib.suppress(psutil.Error):
            self._family |= set(psutil.Process(self.pid).children(recursive=True))

    async def stop(self) -> None:
        """End it and everything that it started."""
        if self._process is None:
            return
        self.note_family()
        with contextlib.suppress(ProcessLookupError):
            self._process.terminate()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STOP_S):
                await self.wait()
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await asyncio.to_thread(_end, self._family)
        if self._relaying is not None:
            await self._relaying

    def reason(self) -> str:
        """What it said last of an error; empty: nothing."""
        said = ""
        for line in self._lines:
            told = _PLACE.sub("", line)
            if said.endswith(":"):  # the rest is on the next line
                said = f"{said} {told.strip()}"
            elif _ERROR.match(told) and _NO_REASON not in told:
                said = told
        return said[:_REASON_CHARS]

    async def _relay(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        while True:
            try:
                raw = await self._process.stdout.readline()
            except ValueError:  # a longer line than anybody reads
                continue
            if not raw:
                return
            line = raw.decode("utf-8", "replace").rstrip()
            self._lines.append(line)
            sys.stderr.write(f"{line}\n")


def _end(family: set[psutil.Process]) -> None:
    """Kill what is left; a process that took over a dead one's number is not among them."""
    for process in family:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(family, timeout=STOP_S)
