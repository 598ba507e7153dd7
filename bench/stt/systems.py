"""The servers under test, each in its own process: ours, and peers on the same model."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal

from bench.children import PeerUnavailable, await_port, child, free_port, installed, version
from bench.stt.lines import LineFactory, ListenLine, WyomingLine
from tests.speech_server_process import speech_server_process

_QUERY: Final = "encoding=linear16&sample_rate=16000&channels=1&endpointing=false&language=en"
_INTERIMS: Final = "&interim_results=true&preflight=true&vad_events=true"
"""What the agent's own plugin asks for."""
_OF_EVERY_ENGINE: Final = ("stt_capacity_streams", "stt_max_latency_s")
_NO_LIMIT_S: Final = "3600"
"""The ramp looks for the limit that admission keeps away from."""
_WYOMING: Final = "wyoming-faster-whisper"


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
    with speech_server_process(("stt",), **(asked | settings)) as server:  # type: ignore[arg-type]
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
    with child(command, stdout=subprocess.PIPE) as process:
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
    python = installed(cache, _WYOMING, (_WYOMING,))
    port = free_port()
    command = [
        *(str(python), "-m", "wyoming_faster_whisper", "--uri", f"tcp://127.0.0.1:{port}"),
        *("--model", str(engine.model), "--data-dir", str(cache), "--stt-library"),
        *("faster-whisper", "--language", "en", "--beam-size", "1", "--local-files-only"),
        *("--device", engine.device, "--cpu-threads", str(engine.cpu_threads)),
        *("--compute-type", "float16" if engine.device == "cuda" else "int8"),
    ]
    with child(command, stderr=subprocess.DEVNULL) as process:
        await_port(port, process, _WYOMING)
        yield System(
            _WYOMING,
            f"{version(python, _WYOMING)} from PyPI, its own settings but beam 1; finals only",
            partial(WyomingLine, port),
            process.pid,
        )
