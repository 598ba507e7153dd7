"""The servers under test, each in its own process: ours, and peers on the same model."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Final, Literal

from bench.stt.lines import LineFactory, ListenLine, WyomingLine
from tests.speech_server_process import speech_server_process

_QUERY: Final = "encoding=linear16&sample_rate=16000&channels=1&endpointing=false&language=en"
_INTERIMS: Final = "&interim_results=true&preflight=true&vad_events=true"
"""What the agent's own plugin asks for."""
_OF_EVERY_ENGINE: Final = ("stt_capacity_streams", "stt_max_latency_s")
_NO_LIMIT_S: Final = "3600"
"""The ramp looks for the limit that admission keeps away from."""
_START_TIMEOUT_S: Final = 120.0
_STOP_TIMEOUT_S: Final = 20.0
_WYOMING: Final = "wyoming-faster-whisper"


class PeerUnavailable(Exception):
    """A peer cannot be run here; the message says why."""


@dataclass(frozen=True)
class Engine:
    """What all servers of a run decode with."""

    name: Literal["whisper", "moonshine"]
    model: Path | None
    """Directory in faster-whisper's format; None for Moonshine."""
    cpu_threads: int
    device: Literal["cpu", "cuda"] = "cpu"


@dataclass(frozen=True)
class System:
    """A server that runs, and how to talk to it."""

    name: str
    description: str
    new_line: LineFactory
    pid: int
    url: str | None = None
    """Where our server's metrics and file transcription are; None for peers."""
    listen_url: str | None = None
    """Our server's `/v1/listen` with its query; None for peers."""


@contextmanager
def parley(engine: Engine, capacity: int, settings: dict[str, str]) -> Iterator[list[System]]:
    """Our speech server, with interims as an agent asks for them, and without.

    Args:
        engine: what to decode with.
        capacity: streams to admit.
        settings: further settings of the server, by their lower-case name without prefix.
    """
    asked = {
        "stt_engine": engine.name,
        "stt_model": str(engine.model or ""),
        "stt_device": engine.device,
        "stt_cpu_threads": str(engine.cpu_threads),
        "stt_capacity_streams": str(capacity),
        "stt_max_latency_s": _NO_LIMIT_S,
    }
    if engine.name == "moonshine":
        asked = {k: v for k, v in asked.items() if k in _OF_EVERY_ENGINE}
    with speech_server_process(("stt",), **asked | settings) as server:
        if any("role failed to start" in line for line in server.log):
            raise RuntimeError("the speech server has no engine:\n" + "".join(server.log[-5:]))
        url = f"{server.ws_url}/v1/listen?{_QUERY}"
        pid = server.process.pid
        yield [
            System(
                "parley",
                "interims, preflights and finals, as the agent asks for them",
                partial(ListenLine, url + _INTERIMS),
                pid,
                server.url,
                url + _INTERIMS,
            ),
            System("parley-finals", "finals only", partial(ListenLine, url), pid, server.url, url),
        ]


@contextmanager
def per_request(engine: Engine, workers: int, threads: int) -> Iterator[System]:
    """faster-whisper called once for each request behind a thread pool; finals only."""
    command = [
        sys.executable,
        *("-m", "bench.stt.per_request_server", "--model", str(engine.model)),
        *("--workers", str(workers), "--threads", str(threads), "--device", engine.device),
    ]
    with _child(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        port = re.search(r"listening on port (\d+)", process.stdout.readline())
        if port is None:
            raise PeerUnavailable("the per-request server did not start")
        yield System(
            f"per-request-{workers}x{threads}",
            f"one request, one decode: {workers} at once, {threads} threads each; finals only",
            partial(ListenLine, f"ws://127.0.0.1:{port[1]}/v1/listen"),
            process.pid,
        )


@contextmanager
def wyoming(engine: Engine, cache: Path) -> Iterator[System]:
    """wyoming-faster-whisper from PyPI, in an environment of its own, made on first use.

    Raises:
        PeerUnavailable: it cannot be installed, or does not start.
    """
    python = _wyoming_python(cache)
    port = _free_port()
    command = [
        *(str(python), "-m", "wyoming_faster_whisper", "--uri", f"tcp://127.0.0.1:{port}"),
        *("--model", str(engine.model), "--data-dir", str(cache), "--stt-library"),
        *("faster-whisper", "--language", "en", "--beam-size", "1", "--local-files-only"),
        *("--device", engine.device, "--cpu-threads", str(engine.cpu_threads)),
        *("--compute-type", "float16" if engine.device == "cuda" else "int8"),
    ]
    with _child(command, stderr=subprocess.DEVNULL) as process:
        _await_port(port, process)
        yield System(
            _WYOMING,
            f"{_version(python)} from PyPI, its own settings but beam 1; finals only",
            partial(WyomingLine, port),
            process.pid,
        )


def _wyoming_python(cache: Path) -> Path:
    folder = cache / _WYOMING
    python = folder / "bin" / "python"
    if (folder / "installed").is_file():
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        subprocess.run(
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True
        )
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", python, _WYOMING],
            check=True,
            capture_output=True,
            text=True,
            timeout=_START_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "stderr", None) or str(error)
        raise PeerUnavailable(f"{_WYOMING} cannot be installed: {why.strip()}") from error
    (folder / "installed").touch()
    return python


def _version(python: Path) -> str:
    found = sorted(python.parents[1].glob(f"lib/*/site-packages/{_WYOMING.replace('-', '_')}-*"))
    return metadata.PathDistribution(found[-1]).version if found else "unknown version"


@contextmanager
def _child(
    command: list[str], *, stdout: int = subprocess.DEVNULL, stderr: int | None = None
) -> Iterator["subprocess.Popen[str]"]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    checkout = Path(__file__).resolve().parents[2]
    process = subprocess.Popen(
        command,
        cwd=checkout,
        env=environment | {"HF_HUB_OFFLINE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_port(port: int, process: "subprocess.Popen[str]") -> None:
    give_up_at = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < give_up_at and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1.0).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise PeerUnavailable(f"{_WYOMING} did not start")
