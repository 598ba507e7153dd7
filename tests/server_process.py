"""One of our servers in a process of its own, on a free loopback port."""

import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

_LISTENING = re.compile(r"running on http://127\.0\.0\.1:(\d+)")
_REPORTED_LINES = 60
"""Of the log of a server that did not start."""


@dataclass
class Server:
    """A running server."""

    process: subprocess.Popen[str]
    stop_timeout_s: float
    port: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ask it to end as an operator would, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(self.stop_timeout_s)


class _LogReader(threading.Thread):
    """Drains the server's log and tells when it listens and has said often enough that it is up."""

    def __init__(self, server: Server, settled: Callable[[str], bool], times: int) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._settled = settled
        self._missing = times
        self.started = threading.Event()

    def run(self) -> None:
        assert self._server.process.stderr is not None
        for line in self._server.process.stderr:
            self._server.log.append(line)
            if found := _LISTENING.search(line):
                self._server.port = int(found[1])
            self._missing -= self._settled(line)
            if self._server.port and self._missing <= 0:
                self.started.set()
        self.started.set()


@contextmanager
def server_process(
    command: Sequence[str | Path],
    settings: Mapping[str, str],
    *,
    settled: Callable[[str], bool],
    times: int = 1,
    start_timeout_s: float,
    stop_timeout_s: float,
) -> Iterator[Server]:
    """Run a server without the settings of this process, yield once it is up, and end it.

    Args:
        command: how to start it.
        settings: its `PARLEY_*` variables.
        settled: whether a line of its log says that a part of it is up, or has failed.
        times: how many such lines there will be.
        start_timeout_s: longest wait for them, seconds.
        stop_timeout_s: longest wait for its end before it is killed, seconds.

    Raises:
        RuntimeError: it did not start; the message ends with its log.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    process = subprocess.Popen(
        command,
        env={**environment, **settings},
        stdin=subprocess.DEVNULL,
        # vLLM's engine says everything there too
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = Server(process, stop_timeout_s)
    reader = _LogReader(server, settled, times)
    reader.start()
    try:
        if not reader.started.wait(start_timeout_s) or not server.port:
            raise RuntimeError("it did not start:\n" + "".join(server.log[-_REPORTED_LINES:]))
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(stop_timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join()
        assert process.stderr is not None
        process.stderr.close()
