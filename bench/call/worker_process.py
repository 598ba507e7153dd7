"""A worker as a process of its own, ready once it says so."""

import re
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

import psutil

from bench.children import end, free_port
from tests.stack import Stack
from voice_agent.stack.plan import AGENT_SCRIPT, DRAIN_S, REGISTERED

_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.1
_LAST_LINES_S: Final = 1.0
"""Longest wait for the rest of an ended worker's log, which what it started may hold open."""
_KEPT_LINES: Final = 40
"""What is told of a worker that has ended or did not start."""


class LoggedWorker:
    """A worker that runs, and the last lines of its log.

    Args:
        process: its output is a pipe, which nobody else reads.
        ready: what a line of its log holds once it is ready.
        log: file that its log is written to, line by line.
    """

    def __init__(self, process: "subprocess.Popen[str]", ready: re.Pattern[str], log: Path) -> None:
        self.process = process
        self._ready, self._log = ready, log
        self._is_ready = threading.Event()
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_until_ready(self) -> None:
        """Wait until it says that it is ready.

        Raises:
            RuntimeError: it ended, or was not ready in time; the message holds its last lines.
        """
        give_up_s = time.monotonic() + _START_TIMEOUT_S
        while not self._is_ready.wait(_POLL_S):
            self.raise_if_ended()
            if time.monotonic() >= give_up_s:
                raise RuntimeError("a worker did not start:\n" + "".join(self._last_lines))

    def raise_if_ended(self) -> None:
        """See whether it still runs.

        Raises:
            RuntimeError: it does not; the message holds its last lines.
        """
        if (status := self.process.poll()) is None:
            return
        self._reader.join(_LAST_LINES_S)
        last_lines = "".join(self._last_lines)
        raise RuntimeError(f"a worker ended with status {status}:\n{last_lines}")

    def close(self) -> None:
        """End it; returns once its log is complete."""
        end(self.process)
        self._reader.join(_STOP_TIMEOUT_S)
        assert self.process.stdout is not None
        self.process.stdout.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self._log.open("w", buffering=1, encoding="utf-8") as file:
            for line in self.process.stdout:
                self._last_lines.append(line)
                file.write(line)
                if self._ready.search(line):
                    self._is_ready.set()


@contextmanager
def logged_worker(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    ready: re.Pattern[str],
    log: Path,
    folder: Path | None = None,
) -> Iterator[LoggedWorker]:
    """Run a worker; yields once a line of its log matches.

    Args:
        command: program and arguments.
        environment: its whole environment.
        ready: what such a line holds.
        log: file that its log is written to.
        folder: that it runs in; None: this process's own.

    Raises:
        RuntimeError: it ended, or was not ready in time; the message holds its last lines.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    worker = LoggedWorker(process, ready, log)
    try:
        worker.wait_until_ready()
        yield worker
    finally:
        worker.close()


def further_worker(
    stack: Stack, agent_name: str, settings: Mapping[str, str]
) -> AbstractContextManager[LoggedWorker]:
    """Run a stack's own worker once more, beside it; yields once livekit-server knows it.

    Args:
        stack: whose; the log goes to the others of its processes.
        agent_name: under which it is registered.
        settings: variables by which it differs besides.

    Raises:
        RuntimeError: it did not start; the message holds its last lines.
    """
    environment = {
        **psutil.Process(stack.processes["worker"]).environ(),
        "PARLEY_AGENT_NAME": agent_name,
        "PARLEY_WORKER_PORT": "0",
        "PARLEY_WORKER_METRICS_PORT": str(free_port()),
        **settings,
    }
    command = (sys.executable, AGENT_SCRIPT, "start", "--drain-timeout", str(DRAIN_S))
    log = stack.log_dir / f"{agent_name}.log"
    return logged_worker(command, environment, REGISTERED, log, stack.home)
