"""Real-time listeners on the whole path: text on the wire, vLLM, SNAC, audio on the wire."""

import asyncio
import importlib.util
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from bench.children import PeerUnavailable, child, free_port
from bench.tts.plan import TOKENS_PER_S
from bench.tts.replies import read_replies
from bench.tts.rounds import Round, Span, System, run_round
from bench.tts.wires import SpeakWire

_START_S: Final = 570.0
"""Compiling for a GPU and capturing its graphs takes minutes."""


@dataclass(frozen=True)
class Models:
    """What the server speaks with."""

    llama: Path
    """See `dummy_orpheus.write`."""
    snac: Path
    memory_share: float


def vllm_found() -> bool:
    """Whether this Python has vLLM."""
    return importlib.util.find_spec("vllm") is not None


async def measure_whole_path(
    models: Models, streams: Sequence[int], talk_s: float
) -> AsyncIterator[Round]:
    """Have listeners hear one reply after the other.

    Args:
        models: see `Models`.
        streams: listeners at once, step by step.
        talk_s: length of a round.

    Yields:
        One result for each step.

    Raises:
        PeerUnavailable: the server did not start.
        OSError, aiohttp.ClientError, psutil.Error: it died.
    """
    texts = read_replies()
    connector = aiohttp.TCPConnector(limit=0)
    async with (
        _server(models) as (process, url),
        aiohttp.ClientSession(connector=connector) as session,
    ):
        wire = SpeakWire(session, url, TOKENS_PER_S)
        system = System("parley", "whole path, dummy weights", wire, process.pid, url)
        for step in streams:
            await wire.connect(step)
            # Long enough for one reply of everybody, so that they are not all at the same word.
            span = Span(settle_s=min(5.0, talk_s), talk_s=talk_s)
            yield await run_round(system, texts, "listeners", step, span)


@asynccontextmanager
async def _server(models: Models) -> "AsyncIterator[tuple[subprocess.Popen[str], str]]":
    port = free_port()
    command = [
        *(sys.executable, "-m", "bench.gpu.tts.dummy_server", "--port", str(port)),
        *("--model", str(models.llama.resolve()), "--snac", str(models.snac.resolve())),
        *("--memory-share", str(models.memory_share)),
    ]
    url = f"http://127.0.0.1:{port}"
    with child(command) as process:
        await _ready(url, process)
        yield process, url


async def _ready(url: str, process: "subprocess.Popen[str]") -> None:
    give_up_s = time.monotonic() + _START_S
    async with aiohttp.ClientSession() as session:
        while time.monotonic() < give_up_s and process.poll() is None:
            try:
                async with session.get(f"{url}/ready") as answer:
                    health = await answer.json()
            except (aiohttp.ClientError, OSError):
                health = {"status": "loading"}
            if health["status"] == "ok":
                return
            if health["status"] == "failed":
                raise PeerUnavailable(f"the speech server did not start: {health['roles']}")
            await asyncio.sleep(0.5)
    raise PeerUnavailable("the speech server did not start; its own messages are above")
