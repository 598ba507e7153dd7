"""What is taken from a stream, against a server that sends what the test says."""

import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from rich.console import Console

from bench.llm.asking import Asker, NotAnswered
from bench.llm.benchmark import Benchmark
from bench.llm.plan import Plan
from bench.llm.systems import System

PLAN = Plan(prompt_tokens=300, answer_tokens=3, prompts=2, callers=(1, 2), turns=2, presses=1)


class Server:
    """Counts as many tokens as a prompt has words, and knows the prompts that it has seen."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.lines: list[str] | None = None
        self.status = 200
        self._seen: set[str] = set()
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        self.server = TestServer(app)

    @property
    def url(self) -> str:
        return str(self.server.make_url("/v1"))

    async def _models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "m"}]})

    async def _chat(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.requests.append(asked)
        if self.status != 200:
            return web.Response(status=self.status, text="no")
        system = asked["messages"][0]["content"]
        tokens = len(system.split())
        cached = tokens if system in self._seen else 0
        self._seen.add(system)
        usage = {
            "prompt_tokens": tokens,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
        lines = self.lines
        if lines is None:
            lines = [said(role="assistant"), said(content="a"), said(content="b"), used(usage)]
        body = "\n\n".join([*lines, "data: [DONE]", ""])
        return web.Response(text=body, content_type="text/event-stream")


def said(**delta: str) -> str:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': delta}]})}"


def used(usage: Any) -> str:
    return f"data: {json.dumps({'choices': [], 'usage': usage})}"


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    made = Server()
    await made.server.start_server()
    yield made
    await made.server.close()


@pytest.fixture
async def asker(server: Server) -> AsyncIterator[Asker]:
    async with aiohttp.ClientSession(f"{server.url}/") as session:
        yield Asker(session, "m", is_ours=True)


async def test_pieces_are_timed_and_tokens_counted(asker: Asker, server: Server) -> None:
    answer = await asker.ask("You answer.", "Hi.", 7)
    assert (len(answer.gaps_s), answer.completion_tokens, answer.cached_share) == (1, 2, 0.0)
    assert (await asker.ask("You answer.", "Ho.", 7)).cached_share == 1.0
    assert (server.requests[0]["ignore_eos"], server.requests[0]["min_tokens"]) == (True, 7)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "no token"),
        ([said(content="a")], "no usage"),
        ([used({"prompt_tokens": 1, "completion_tokens": 0})], "no token"),
        ([said(content="a"), 'data: {"error": {"code": "model_failed"}}'], "model_failed"),
    ],
)
async def test_half_an_answer_is_none(
    asker: Asker, server: Server, lines: list[str], message: str
) -> None:
    server.lines = lines
    with pytest.raises(NotAnswered, match=message):
        await asker.ask("You answer.", "Hi.", 7)


async def test_a_refusal_is_told(asker: Asker, server: Server) -> None:
    server.status = 429
    with pytest.raises(NotAnswered, match="HTTP 429"):
        await asker.ask("You answer.", "Hi.", 7)


@pytest.mark.parametrize("cache_tokens", [None, 1500])
async def test_the_whole_run(server: Server, cache_tokens: int | None) -> None:
    system = System(server.url, None, "none", "a server", cache_tokens)
    report = await Benchmark(system, None, PLAN, {}, Console(quiet=True)).run()
    summary = report.summary()
    assert summary["prefix_cached_share"] == 1.0
    assert [load.answers for load in report.loads] == [2, 4]
    assert summary["cached_share_most_callers"] == 1.0
    assert bool(report.under_pressure) is (cache_tokens is not None)
    assert report.conditions["model"] == "m"
    ours = cache_tokens is not None
    assert all(("ignore_eos" in request) is ours for request in server.requests)


async def test_who_hangs_up_takes_no_more(server: Server, asker: Asker) -> None:
    server.lines = [said(role="assistant"), *(said(content="a") for _ in range(20))]
    assert await asker.leave("prompt", "hello", 400, pieces=8) == 8
    assert await asker.leave("prompt", "hello", 400, pieces=50) == 20


async def test_who_is_refused_cannot_hang_up(server: Server, asker: Asker) -> None:
    server.status = 429
    with pytest.raises(NotAnswered, match="429"):
        await asker.leave("prompt", "hello", 400, pieces=8)
