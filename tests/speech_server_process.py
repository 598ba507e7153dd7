"""A real speech server in its own process, on a free loopback port."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

_START_TIMEOUT_S = 90.0
_STOP_TIMEOUT_S = 20.0
_LISTENING = re.compile(r"running on http://127\.0\.0\.1:(\d+)")


@dataclass
class SpeechServer:
    """A running server."""

    process: subprocess.Popen[str]
    roles: tuple[str, ...]
    api_key: str = ""
    """The key it wants; empty: none."""
    port: int = 0
    log: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """`http://127.0.0.1:PORT`, without a slash at the end."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws_url(self) -> str:
        """`ws://127.0.0.1:PORT`, without a slash at the end."""
        return f"ws://127.0.0.1:{self.port}"

    def stop(self) -> int:
        """Ask it to end as an operator would, and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_STOP_TIMEOUT_S)


class _LogReader(threading.Thread):
    """Drains the server's log and tells when it listens and when every role has settled."""

    def __init__(self, server: SpeechServer) -> None:
        super().__init__(daemon=True)
        self._server = server
        self._settled = 0
        self.started = threading.Event()

    def run(self) -> None:
        assert self._server.process.stderr is not None
        for line in self._server.process.stderr:
            self._server.log.append(line)
            if found := _LISTENING.search(line):
                self._server.port = int(found[1])
            if "role ready" in line or "role failed to start" in line:
                self._settled += 1
            if self._server.port and self._settled == len(self._server.roles):
                self.started.set()
        self.started.set()


@contextmanager
def speech_server_process(
    roles: tuple[str, ...] = ("stt", "tts"),
    python: str = sys.executable,
    start_timeout_s: float = _START_TIMEOUT_S,
    **settings: str,
) -> Iterator[SpeechServer]:
    """Run `python -m speech_server` and yield once every role is ready or has failed.

    Args:
        roles: the roles to serve.
        python: the interpreter of an environment in which the server is installed.
        start_timeout_s: longest wait for the roles, seconds.
        settings: further settings by their lower-case name without prefix, for example
            `stt_capacity_streams="1"`.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    environment |= {f"PARLEY_{name.upper()}": value for name, value in settings.items()}
    environment |= {"PARLEY_SPEECH_PORT": "0", "PARLEY_SPEECH_ROLES": ",".join(roles)}
    process = subprocess.Popen(
        [python, "-m", "speech_server"],
        env=environment,
        stdin=subprocess.DEVNULL,
        # vLLM's engine says everything there too
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    server = SpeechServer(process, roles, settings.get("speech_api_key", ""))
    reader = _LogReader(server)
    reader.start()
    try:
        if not reader.started.wait(start_timeout_s) or not server.port:
            raise RuntimeError("the speech server did not start:\n" + "".join(server.log))
        yield server
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        reader.join()
        assert process.stderr is not None
        process.stderr.close()
