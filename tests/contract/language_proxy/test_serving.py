"""The server as a process, with a stand-in for vLLM: its start, a sudden death, its end."""

import asyncio
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from tests.contract.language_proxy.fake_vllm import body
from tests.unit.language_server.vllm.model_folder import make_folder

STAND_IN = Path(__file__).with_name("stand_in.py")
CHAT = "/v1/chat/completions"


@dataclass
class Serving:
    """A running server."""

    process: asyncio.subprocess.Process
    url: str
    ready: int = 0
    """How often a copy of the model has become ready."""

    async def until_ready(self, times: int) -> None:
        """Read its log until a copy has become ready so often."""
        assert self.process.stderr is not None
        async with asyncio.timeout(60):
            while self.ready < times:
                line = await self.process.stderr.readline()
                assert line, "the server has ended"
                self.ready += b"language model ready" in line

    def vllms(self) -> list[psutil.Process]:
        """The stand-ins."""
        children: list[psutil.Process] = psutil.Process(self.process.pid).children()
        return children


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[Serving]:
    """Run the server with a model that is none."""
    model = make_folder(folder / "m")
    program = folder / "python"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(0o755)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    wanted = {"engine": "vllm", "model": str(model), "python": str(program), "port": str(port)}
    environment = {"PATH": os.environ["PATH"]} | {
        f"PARLEY_LANGUAGE_{name.upper()}": value for name, value in (wanted | settings).items()
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "language_server",
        env=environment, stdin=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield Serving(process, f"http://127.0.0.1:{port}")
    finally:
        if process.returncode is None:
            process.terminate()
        assert process.stderr is not None
        await process.stderr.read()
        await process.wait()


async def answer(server: Serving) -> str:
    async with httpx.AsyncClient(base_url=server.url, timeout=20) as http:
        whole = await http.post(CHAT, json=body() | {"model": "m"})
    assert whole.status_code == 200, whole.text
    return str(whole.json()["choices"][0]["message"]["content"])


async def test_vllm_is_started_asked_and_ended_with_us(tmp_path: Path) -> None:
    async with serving(tmp_path, replicas="2") as server:
        await server.until_ready(2)
        assert await answer(server) == "Good day, m."
        vllms = server.vllms()
        assert len(vllms) == 2
        server.process.terminate()
        assert server.process.stderr is not None
        await server.process.stderr.read()
        assert await server.process.wait() == 0
        assert not any(one.is_running() for one in vllms)


async def test_one_that_dies_comes_back_in_the_same_place(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.until_ready(1)
        (first,) = server.vllms()
        first.kill()
        await server.until_ready(2)
        assert await answer(server) == "Good day, m."
        assert server.vllms() != [first]


async def test_one_that_dies_too_often_ends_the_server_with_the_reason(tmp_path: Path) -> None:
    async with serving(tmp_path, max_restarts="1") as server:
        for life in (1, 2):
            await server.until_ready(life)
            (vllm,) = server.vllms()
            vllm.kill()
        assert server.process.stderr is not None
        said = (await server.process.stderr.read()).decode().splitlines()
        assert await server.process.wait() == 1
        assert said[-1] == "language server: vllm-0: vLLM ended with signal 9"


async def test_vllm_listens_on_no_network_address(tmp_path: Path) -> None:
    async with serving(tmp_path) as server:
        await server.until_ready(1)
        (vllm,) = server.vllms()
        assert not vllm.net_connections("inet")
