import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from livekit.agents import APIConnectOptions, APIError, llm

from speech_plugins import LLM, fallback_llm
from speech_plugins.fallback_llm import FallbackLLM

FAST = APIConnectOptions(max_retry=1, retry_interval=0.01, timeout=5.0)
PROMPT = "You answer the telephone."


class Model:
    """A model server whose every token is written by the test."""

    def __init__(self) -> None:
        self.asked = asyncio.Semaphore(0)
        self.warmed = asyncio.Semaphore(0)
        self.given_up = asyncio.Event()
        self.status = 200
        self.script: list[str | asyncio.Event | None] = []
        """Text to write; an event to wait for; None to break the connection."""
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        self.url = ""

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        if not asked.get("stream"):
            self.warmed.release()
            return web.json_response(_part("", "length") | {"object": "chat.completion"})
        self.asked.release()
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            for step in self.script:
                if step is None:
                    assert request.transport is not None
                    request.transport.abort()
                    return response
                if isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    await response.write(f"data: {json.dumps(_part(step))}\n\n".encode())
            await response.write(f"data: {json.dumps(_part('', 'stop'))}\n\n".encode())
            await response.write(b"data: [DONE]\n\n")
        except asyncio.CancelledError:
            self.given_up.set()
            raise
        return response

    @classmethod
    @asynccontextmanager
    async def running(cls) -> AsyncIterator["Model"]:
        model = cls()
        await model._runner.setup()
        await web.TCPSite(model._runner, "127.0.0.1", 0).start()
        model.url = f"http://127.0.0.1:{model._runner.addresses[0][1]}/v1"
        try:
            yield model
        finally:
            await model._runner.cleanup()


def _part(text: str, finish: str | None = None) -> dict[str, Any]:
    delta = {"role": "assistant", "content": text}
    choice = {"index": 0, "delta": delta, "message": delta, "finish_reason": finish}
    return {
        "id": "answer-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


@pytest.fixture
async def first() -> AsyncIterator[Model]:
    async with Model.running() as model:
        yield model


@pytest.fixture
async def second() -> AsyncIterator[Model]:
    async with Model.running() as model:
        yield model


@pytest.fixture
async def both(first: Model, second: Model) -> AsyncIterator[FallbackLLM]:
    models = (LLM(url=server.url, model="m", timeout_s=5.0) for server in (first, second))
    async with FallbackLLM(*models, instructions=PROMPT, probe_interval_s=0.001) as both:
        yield both


def asked() -> llm.ChatContext:
    context = llm.ChatContext.empty()
    context.add_message(role="system", content=PROMPT)
    context.add_message(role="user", content="Hi.")
    return context


async def answer(model: FallbackLLM) -> str:
    async with model.chat(chat_ctx=asked(), conn_options=FAST) as stream:
        return (await stream.collect()).text


def never() -> asyncio.Event:
    return asyncio.Event()


async def test_the_first_answers_alone_while_it_is_quick(
    both: FallbackLLM, first: Model, second: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "HEAD_START_S", 60.0)
    first.script, second.script = ["Good ", "morning."], ["Me too."]
    metrics: list[Any] = []
    both.on("metrics_collected", metrics.append)
    assert await answer(both) == "Good morning."
    assert second.asked.locked()
    assert len(metrics) == 1


@pytest.mark.parametrize("status", [429, 500, 401])
async def test_one_that_refuses_is_left_at_once(
    both: FallbackLLM, first: Model, second: Model, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "HEAD_START_S", 60.0)
    first.status, second.script = status, ["Good evening."]
    assert await answer(both) == "Good evening."
    assert not both.provider_state.is_well


async def test_one_that_writes_nothing_is_not_waited_for(
    both: FallbackLLM, first: Model, second: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "HEAD_START_S", 0.01)
    first.script, second.script = [never(), "Too late."], ["Good evening."]
    assert await answer(both) == "Good evening."
    async with asyncio.timeout(10):
        await first.given_up.wait()  # it does not go on for nobody


async def test_a_slow_first_that_is_still_first_answers(
    both: FallbackLLM, first: Model, second: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "HEAD_START_S", 0.01)
    go = asyncio.Event()
    first.script, second.script = [go, "Good ", "morning."], [never(), "Good evening."]
    answering = asyncio.create_task(answer(both))
    await second.asked.acquire()
    go.set()
    assert await answering == "Good morning."
    assert both.provider_state.is_well
    async with asyncio.timeout(10):
        await second.given_up.wait()


async def test_an_answer_that_breaks_is_not_begun_again(
    both: FallbackLLM, first: Model, second: Model
) -> None:
    heard = asyncio.Event()
    first.script, second.script = ["Your visit is ", heard, None], ["Your visit is on Tuesday."]
    errors: list[llm.LLMError] = []
    both.on("error", errors.append)
    said: list[str] = []

    async def listen() -> None:
        async with both.chat(chat_ctx=asked(), conn_options=FAST) as stream:
            async for chunk in stream:
                if chunk.delta and chunk.delta.content:
                    said.append(chunk.delta.content)
                    heard.set()

    with pytest.raises(APIError):
        await listen()
    assert said == ["Your visit is "]
    assert second.asked.locked()
    assert [error.recoverable for error in errors] == [False]


async def test_an_answer_that_stops_is_given_up(
    both: FallbackLLM, first: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "GAP_TIMEOUT_S", 0.05)
    first.script = ["Your visit is ", never()]
    with pytest.raises(APIError, match="the answer stopped"):
        await answer(both)
    async with asyncio.timeout(10):
        await first.given_up.wait()


async def test_the_first_is_asked_again_once_its_prefix_is_warm(
    both: FallbackLLM, first: Model, second: Model
) -> None:
    back = asyncio.Event()
    both.provider_state.call_when_well(back.set)
    first.status, first.script, second.script = 500, ["First."], ["Second."]
    assert await answer(both) == "Second."
    assert await answer(both) == "Second."
    first.status = 200
    async with asyncio.timeout(10):
        await first.warmed.acquire()
        await back.wait()
    assert await answer(both) == "First."


async def test_both_prefixes_are_warmed(both: FallbackLLM, first: Model, second: Model) -> None:
    both.prewarm()
    async with asyncio.timeout(10):
        await first.warmed.acquire()
        await second.warmed.acquire()


async def test_a_caller_who_goes_away_is_not_answered(
    both: FallbackLLM, first: Model, second: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_llm, "HEAD_START_S", 0.01)
    first.script, second.script = [never()], [never()]
    stream = both.chat(chat_ctx=asked(), conn_options=FAST)
    await first.asked.acquire()
    await second.asked.acquire()
    await stream.aclose()
    async with asyncio.timeout(10):
        await first.given_up.wait()
        await second.given_up.wait()


async def test_when_both_fail_it_is_told(both: FallbackLLM, first: Model, second: Model) -> None:
    first.status = second.status = 500
    with pytest.raises(APIError):
        await answer(both)
