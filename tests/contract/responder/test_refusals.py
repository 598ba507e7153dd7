"""What the responder refuses, and that it serves the next caller."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import openai
import pytest
from pydantic import SecretStr

from tests.contract.responder.responder_server import MODEL, body, said, serving
from tests.unit.language_server.front_desk import OPENAI_TOOLS


async def test_a_demanded_call_without_arguments_is_refused(client: openai.AsyncOpenAI) -> None:
    tools: Any = OPENAI_TOOLS
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(
            model=MODEL,
            messages=said("Hello."),
            tools=tools,
            tool_choice={"type": "function", "function": {"name": "book_appointment"}},
        )
    assert caught.value.code == "tool_choice_unsatisfiable"


async def test_errors_have_openai_s_shape(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.chat.completions.create(model="gpt-99", messages=said("Hello."))
    assert caught.value.code == "model_not_found"
    assert caught.value.param == "model"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"\xff\xfe\x00", 400),
        (b"[" * 200_000, 400),
        (json.dumps(body(messages=[{"role": "wizard", "content": "x"}])).encode(), 400),
        (json.dumps(body(messages=[{"role": "user", "content": "x"}] * 10_000)).encode(), 413),
        (json.dumps(body(messages=said("x" * 2_000_000))).encode(), 413),
        (json.dumps(body(messages=said("word " * 150_000))).encode(), 200),
        (json.dumps(body(stream="perhaps")).encode(), 400),
        (json.dumps(body(frobnicate=True)).encode(), 400),
        (json.dumps(body(functions=[])).encode(), 400),
    ],
    ids=[
        "empty", "half", "binary", "deep", "role", "many", "huge", "large", "type", "unknown", "old"
    ],
)  # fmt: skip
async def test_bad_data_is_refused_and_the_next_caller_is_served(
    http: httpx.AsyncClient, content: bytes, status: int
) -> None:
    answer = await http.post("/v1/chat/completions", content=content)
    assert answer.status_code == status
    if status != 200:
        error = answer.json()["error"]
        assert error["message"]
        assert error["type"] == "invalid_request_error"
        assert set(error) == {"message", "type", "code", "param"}
    assert (await http.post("/v1/chat/completions", json=body())).status_code == 200


async def test_a_body_without_end_is_refused() -> None:
    async with (
        serving(language_max_body_bytes=2048) as url,
        httpx.AsyncClient(base_url=url) as http,
    ):

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(64):
                yield b" " * 1024

        answer = await http.post("/v1/chat/completions", content=endless())
        assert answer.status_code == 413


async def test_a_body_that_does_not_come_is_given_up() -> None:
    async with serving(language_body_timeout_s=0.05) as url:
        host, port = url.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {host}\r\nContent-Length: 10\r\n\r\n"
        writer.write(head.encode())
        status = await reader.readline()
        writer.close()
        await writer.wait_closed()
        assert b"408" in status


async def test_unknown_paths_and_methods(http: httpx.AsyncClient) -> None:
    assert (await http.get("/v1/embeddings")).status_code == 404
    answer = await http.get("/v1/chat/completions")
    assert answer.status_code == 405
    assert answer.json()["error"]["message"]


async def test_the_key_guards_all_but_health_and_metrics() -> None:
    async with (
        serving(language_api_key=SecretStr("secret")) as url,
        httpx.AsyncClient(base_url=url) as http,
    ):
        for path in ("/health", "/ready", "/metrics"):
            assert (await http.get(path)).status_code == 200
        assert (await http.get("/v1/models")).status_code == 401
        refused = await http.post("/v1/chat/completions", json=body())
        assert refused.status_code == 401
        assert refused.json()["error"]["code"] == "invalid_api_key"
        headers = {"Authorization": "Bearer secret"}
        served = await http.post("/v1/chat/completions", json=body(), headers=headers)
        assert served.status_code == 200
