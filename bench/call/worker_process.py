"""A worker as a process of its own, ready once it says so."""

import re
import subprocess
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bench.children import end

_START_TIMEOUT_S: Final = 60.0
_STOP_TIMEOUT_S: Final = 30.0
_KEPT_LINES: Final = 40
"""What is told of a worker that did not start."""


@contextmanager
def logged_worker(
    command: Sequence[str], environment: Mapping[str, str], ready: re.Pattern[str], log: Path
) -> Iterator["subprocess.Popen[str]"]:
    """Run a worker; yields once a line of its log matches.

    Args:
        command: program and arguments, run in the checkout.
        environment: its whole environment.
        ready: what such a line holds.
        log: file that its log is written to.

    Raises:
        RuntimeError: it ended, or was not ready in time; the message holds its last lines.
    """
    process = subprocess.Popen(
        command,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said: deque[str] = deque(maxlen=_KEPT_LINES)
    ready_or_ended, registered = threading.Event(), threading.Event()

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line)
            file.write(line)
            if ready.search(line):
                registered.set()
                ready_or_ended.set()
        ready_or_ended.set()

    reader = threading.Thread(target=read, daemon=True)
    file = log.open("w", encoding="utf-8")
    reader.start()
    try:
        ready_or_ended.wait(_START_TIMEOUT_S)
        if not registered.is_set():
            raise RuntimeError("a worker did not start:\n" + "".join(said))
        yield process
    finally:
        end(process)
        reader.join(_STOP_TIMEOUT_S)
        assert process.stdout is not None
        process.stdout.close()
        file.close()
