"""The responder as a process: places that come back, and an orderly end."""

import asyncio
import signal
import socket
import sys

import httpx

from tests.contract.responder.responder_server import body, gauge, said, serving
from tests.unit.language_server.front_desk import OPENAI_TOOLS


async def test_a_client_that_leaves_ends_its_stream_and_frees_its_place() -> None:
    async with (
        serving(language_token_interval_s=0.02, language_max_requests=1) as url,
        httpx.AsyncClient(base_url=url, timeout=20) as http,
    ):
        request = body(messages=said("Are you a robot?"), tools=OPENAI_TOOLS, stream=True)
        async with http.stream("POST", "/v1/chat/completions", json=request) as answer:
            async for _ in answer.aiter_lines():
                break
            full = await http.post("/v1/chat/completions", json=body())
            assert full.status_code == 429
            assert full.headers["retry-after"]
        async with asyncio.timeout(10):
            while await gauge(http, "language_requests_active"):
                pass  # every look is a request, in which the server gets its turn
        assert await gauge(http, 'language_requests_total{outcome="cancelled"}') == 1
        assert (await http.post("/v1/chat/completions", json=body())).status_code == 200


async def test_the_module_serves_and_stops_on_sigterm() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "language_server",
        env={"PARLEY_LANGUAGE_PORT": str(port), "PATH": ""},
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            async for line in process.stderr:
                if b"running on" in line:
                    break
        async with httpx.AsyncClient() as http:
            answer = await http.get(f"http://127.0.0.1:{port}/ready")
        assert answer.json() == {"status": "ok", "kind": "script"}
        process.send_signal(signal.SIGTERM)
        await process.stderr.read()
        assert await process.wait() in (0, -signal.SIGTERM)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_wrong_setting_ends_in_one_clear_line() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "language_server",
        env={"PARLEY_LANGUAGE_PORT": "99999", "PATH": ""},
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, said_last = await process.communicate()
    assert process.returncode == 2
    assert said_last.decode().splitlines() == [
        "language server: PARLEY_LANGUAGE_PORT: Input should be less than or equal to 65535"
    ]
