import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from aiohttp import web
from pydantic import SecretStr

from voice_agent.stack import model_probe
from voice_agent.stack.errors import StackError
from voice_agent.stack.model_probe import (
    SCRIPT_MODEL,
    configured_model,
    first_chat_model,
    probe,
)
from voice_agent.stack.ports import PortWish, settle_ports

NO_KEY = SecretStr("none")


def listing(*models: object) -> str:
    return json.dumps({"object": "list", "data": [{"id": model} for model in models]})


@asynccontextmanager
async def server(answer: str | Callable[[web.Request], object]) -> AsyncIterator[int]:
    """A server on loopback that answers GET /v1/models; yields its port."""

    async def models(request: web.Request) -> web.StreamResponse:
        if isinstance(answer, str):
            return web.Response(text=answer, content_type="application/json")
        return await answer(request)  # type: ignore[misc]

    app = web.Application()
    app.router.add_get("/v1/models", models)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


async def test_a_model_server_is_found_with_its_first_chat_model() -> None:
    async with server(listing("nomic-embed-text:latest", "qwen3:8b", "llama3.2")) as port:
        found = await probe(candidates=[("Ollama", port)])
    assert found is not None
    assert (found.model, found.url) == ("qwen3:8b", f"http://127.0.0.1:{port}/v1")
    assert "Ollama" in found.describe()


async def test_the_first_candidate_wins_whoever_answers_first() -> None:
    second_answered = asyncio.Event()

    async def late(request: web.Request) -> web.Response:
        await second_answered.wait()
        return web.Response(text=listing("preferred"))

    async def early(request: web.Request) -> web.Response:
        second_answered.set()
        return web.Response(text=listing("other"))

    async with server(late) as first, server(early) as second:
        found = await probe(candidates=[("vLLM", first), ("Ollama", second)])
    assert found is not None
    assert found.model == "preferred"


async def test_the_wanted_model_decides_which_server_is_taken() -> None:
    async with server(listing("a")) as first, server(listing("b", "c")) as second:
        candidates = [("vLLM", first), ("Ollama", second)]
        found = await probe("c", candidates=candidates)
        missing = await probe("d", candidates=candidates)
    assert found is not None
    assert (found.product, found.model) == ("Ollama", "c")
    assert missing is None


async def test_our_own_ports_are_never_asked() -> None:
    async with server(listing("a")) as port:
        assert await probe(own_ports={port}, candidates=[("llama.cpp", port)]) is None


async def test_nobody_there_is_nothing_found() -> None:
    port = settle_ports([PortWish("nobody", "P", 0)])["P"]
    assert await probe(candidates=[("vLLM", port)]) is None


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "not json",
        "null",
        "[]",
        "{}",
        '{"data": null}',
        '{"data": {"id": "a"}}',
        '{"data": [null, 3, "a", {}, {"id": null}, {"id": 7}, {"id": ""}]}',
        listing("x" * 300),
        listing("line\nbreak", "\x1b[31mred"),
        listing(SCRIPT_MODEL),
        listing("whisper-1", "text-embedding-3", "bge-m3", "kokoro", "moonshine-tiny-en"),
        "[" * 100_000,
    ],
)
async def test_an_answer_that_is_no_list_of_chat_models_finds_nothing(answer: str) -> None:
    async with server(answer) as port:
        assert await probe(candidates=[("vLLM", port)]) is None


async def test_an_endless_answer_is_cut_off() -> None:
    sent = 0

    async def endless(request: web.Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request)
        while sent < 64 * model_probe.ANSWER_MAX_BYTES:
            await response.write(b" " * 65_536)
            sent += 65_536
        return response

    async with server(endless) as port:
        assert await probe(candidates=[("vLLM", port)]) is None
    assert sent < 64 * model_probe.ANSWER_MAX_BYTES


async def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_probe, "PROBE_TIMEOUT_S", 0.05)

    async def silent(request: web.Request) -> web.Response:
        await asyncio.Event().wait()
        raise AssertionError

    async with server(silent) as port:
        assert await probe(candidates=[("vLLM", port)]) is None


async def test_a_redirect_is_not_followed() -> None:
    async def elsewhere(request: web.Request) -> web.Response:
        raise web.HTTPFound(f"http://127.0.0.1:{target}/v1/models")

    async with server(listing("a")) as target, server(elsewhere) as port:
        assert await probe(candidates=[("vLLM", port)]) is None


async def test_a_configured_server_gets_the_key_and_its_first_chat_model_is_used() -> None:
    keys = []

    async def models(request: web.Request) -> web.Response:
        keys.append(request.headers.get("Authorization"))
        return web.Response(text=listing("embed-small", "chatty"))

    async with server(models) as port:
        model = await configured_model(f"http://127.0.0.1:{port}/v1/", None, SecretStr("k1"))
    assert (model.model, model.origin) == ("chatty", "configured")
    assert keys == ["Bearer k1"]


async def test_a_configured_model_is_taken_as_told() -> None:
    model = await configured_model("http://10.0.0.1:1/v1", "mine", NO_KEY)
    assert model.model == "mine"


async def test_a_configured_server_that_is_down_is_an_error_with_a_fix() -> None:
    port = settle_ports([PortWish("nobody", "P", 0)])["P"]
    with pytest.raises(StackError, match="PARLEY_LLM_URL") as raised:
        await configured_model(f"http://127.0.0.1:{port}/v1", None, NO_KEY)
    assert "PARLEY_LLM_MODEL" in raised.value.fix


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://x/v1", "http://"])
async def test_a_configured_address_that_is_none_is_an_error(url: str) -> None:
    with pytest.raises(StackError, match="does not list its models"):
        await configured_model(url, None, NO_KEY)


async def test_a_configured_server_without_chat_models_is_an_error() -> None:
    async with server(listing("whisper-large")) as port:
        with pytest.raises(StackError, match="no model that can chat"):
            await configured_model(f"http://127.0.0.1:{port}/v1", None, NO_KEY)


def test_names_of_chat_models_are_not_mistaken() -> None:
    for name in ("Qwen/Qwen3-8B", "gpt-oss:20b", "gemma3:4b", "mistral-small", "phi4", "e2b"):
        assert first_chat_model([name]) == name
