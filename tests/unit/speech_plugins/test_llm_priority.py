"""How urgent a request is, whose it is, and what is counted of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from livekit.agents import APIError, llm
from livekit.agents.metrics import LLMMetrics
from livekit.agents.voice.agent_activity import _SpeechHandleContextVar
from livekit.agents.voice.speech_handle import SpeechHandle
from prometheus_client import REGISTRY

from speech_plugins import LLM
from speech_plugins.llm_metrics import observe_usage
from speech_plugins.priority import Priority, current_priority, requests_at
from tests.unit.speech_plugins.fake_model_server import DONE, FakeModelServer, said

SAYS = [said({"content": "Hi."}, "stop"), DONE]


@pytest.fixture
async def server() -> AsyncIterator[FakeModelServer]:
    fake = FakeModelServer()
    await fake.server.start_server(shutdown_timeout=0.1)
    fake.body = SAYS
    yield fake
    fake.comment_forever = False
    await fake.server.close()


@pytest.fixture
async def model(server: FakeModelServer) -> AsyncIterator[LLM]:
    async with LLM(url=server.url, model="m", priorities=True, session_id="room-1") as model:
        yield model


def chat(model: LLM) -> llm.LLMStream:
    context = llm.ChatContext.empty()
    context.add_message(role="user", content="Hi.")
    return model.chat(chat_ctx=context)


async def answer(model: LLM) -> None:
    async with chat(model) as stream:
        await stream.collect()


def value(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def ended(priority: str, outcome: str) -> float:
    return value("agent_llm_requests_total", priority=priority, outcome=outcome)


async def test_a_committed_turn_says_nothing_of_it(model: LLM, server: FakeModelServer) -> None:
    await answer(model)
    assert "priority" not in server.requests[0]


async def test_the_priority_chosen_is_sent(model: LLM, server: FakeModelServer) -> None:
    for priority in (Priority.SPECULATIVE, Priority.BACKGROUND):
        with requests_at(priority):
            await answer(model)
    await answer(model)
    assert [request.get("priority") for request in server.requests] == [10, 20, None]


async def test_a_server_that_heeds_none_gets_none(server: FakeModelServer) -> None:
    async with LLM(url=server.url, model="m") as model:
        with requests_at(Priority.SPECULATIVE):
            await answer(model)
    assert "priority" not in server.requests[0]


async def test_what_is_prepared_before_the_turn_is_decided_is_speculative() -> None:
    speech = SpeechHandle.create()
    token = _SpeechHandleContextVar.set(speech)
    try:
        assert current_priority() is Priority.SPECULATIVE
        with requests_at(Priority.BACKGROUND):
            assert current_priority() is Priority.BACKGROUND
        speech._mark_scheduled()
        assert current_priority() is Priority.COMMITTED
    finally:
        _SpeechHandleContextVar.reset(token)
    assert current_priority() is Priority.COMMITTED


async def test_tasks_started_in_the_block_have_its_priority() -> None:
    async def ask() -> Priority:
        return current_priority()

    with requests_at(Priority.BACKGROUND):
        task = asyncio.create_task(ask())
    assert await task is Priority.BACKGROUND


async def test_further_fields_stay_and_win(server: FakeModelServer) -> None:
    async with LLM(
        url=server.url, model="m", priorities=True, extra_body={"top_k": 5, "priority": 3}
    ) as model:
        with requests_at(Priority.SPECULATIVE):
            await answer(model)
    assert (server.requests[0]["top_k"], server.requests[0]["priority"]) == (5, 3)


async def test_every_request_names_its_call_and_no_other(
    model: LLM, server: FakeModelServer
) -> None:
    await answer(model)
    await model.warm_prefix("You answer.", [])
    async with LLM(url=server.url, model="m", session_id="caller\n\u00fc 2") as other:
        await answer(other)
    async with LLM(url=server.url, model="m") as nobody:
        await answer(nobody)
    first, warm, second = (headers["X-Session-ID"] for headers in server.headers[:3])
    assert first == warm != second
    assert "room-1" not in first
    assert "X-Session-ID" not in server.headers[3]


async def test_only_a_warm_prefix_is_to_be_kept(model: LLM, server: FakeModelServer) -> None:
    await answer(model)
    await model.warm_prefix("You answer.", [])
    assert "X-Parley-Keep-Prefix" not in server.headers[0]
    assert server.headers[1]["X-Parley-Keep-Prefix"] == "1"


async def test_ends_are_counted_by_priority(model: LLM, server: FakeModelServer) -> None:
    completed, failed = ended("committed", "completed"), ended("committed", "failed")
    cancelled = ended("speculative", "cancelled")
    await answer(model)
    server.status = 401
    with pytest.raises(APIError):
        await answer(model)
    server.status, server.body, server.comment_forever = 200, [said({"content": "Hi"})], True
    with requests_at(Priority.SPECULATIVE):
        stream = chat(model)
    async with stream:
        await anext(stream)
    assert ended("committed", "completed") == completed + 1
    assert ended("committed", "failed") == failed + 1
    assert ended("speculative", "cancelled") == cancelled + 1


async def test_cached_tokens_are_counted(model: LLM, server: FakeModelServer) -> None:
    cached = value("agent_llm_prompt_tokens_total", source="cached")
    computed = value("agent_llm_prompt_tokens_total", source="computed")
    usage = {
        "prompt_tokens": 1000,
        "completion_tokens": 2,
        "total_tokens": 1002,
        "prompt_tokens_details": {"cached_tokens": 960},
    }
    last = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []}
    server.body = [SAYS[0], "data: " + json.dumps({**last, "usage": usage}), DONE]
    await answer(model)
    assert value("agent_llm_prompt_tokens_total", source="cached") == cached + 960
    assert value("agent_llm_prompt_tokens_total", source="computed") == computed + 40


@pytest.mark.parametrize(
    ("prompt", "cached", "counted"), [(0, 0, 0), (0, 5, 0), (10, 50, 1), (10, 0, 1)]
)
def test_figures_that_make_no_sense_are_bounded(prompt: int, cached: int, counted: int) -> None:
    count = value("agent_llm_cached_prompt_ratio_count")
    total = value("agent_llm_cached_prompt_ratio_sum")
    fields: dict[str, Any] = {"prompt_tokens": prompt, "prompt_cached_tokens": cached}
    metrics = LLMMetrics(
        label="x", request_id="1", timestamp=0, duration=1, ttft=0.1, cancelled=False,
        completion_tokens=1, total_tokens=prompt + 1, tokens_per_second=1, **fields,
    )  # fmt: skip
    observe_usage(metrics)
    assert value("agent_llm_cached_prompt_ratio_count") == count + counted
    assert value("agent_llm_cached_prompt_ratio_sum") <= total + 1
