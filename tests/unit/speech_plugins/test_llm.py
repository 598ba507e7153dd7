import json
import ssl
from collections.abc import AsyncIterator
from typing import Any

import pytest
from livekit.agents import (
    APIConnectionError,
    APIConnectOptions,
    APIError,
    APIStatusError,
    APITimeoutError,
    llm,
)

from speech_plugins import LLM
from tests.unit.speech_plugins.fake_model_server import DONE, FakeModelServer, said

ONCE = APIConnectOptions(max_retry=0, timeout=5.0)
PROMPT = "You answer the telephone."


def call(**function: str) -> dict[str, Any]:
    """A delta with a part of a tool call that has no id."""
    return {"tool_calls": [{"index": 0, "type": "function", "function": function}]}


@pytest.fixture
async def server() -> AsyncIterator[FakeModelServer]:
    fake = FakeModelServer()
    await fake.server.start_server(shutdown_timeout=0.1)
    yield fake
    fake.comment_forever = False
    await fake.server.close()


@pytest.fixture
async def model(server: FakeModelServer) -> AsyncIterator[LLM]:
    async with LLM(url=server.url, model="m", timeout_s=5.0) as model:
        yield model


@llm.function_tool
async def opening_hours(day: str | None = None) -> str:
    """When the practice is open.

    Args:
        day: the day, YYYY-MM-DD.
    """
    return "{}"


def asked(*, tools: bool = False) -> dict[str, Any]:
    context = llm.ChatContext.empty()
    context.add_message(role="system", content=PROMPT)
    context.add_message(role="user", content="Hi.")
    return {"chat_ctx": context, "tools": [opening_hours] if tools else []}


async def answer(model: LLM, options: APIConnectOptions = ONCE, **request: Any) -> Any:
    async with model.chat(conn_options=options, **request) as stream:
        return await stream.collect()


async def test_an_answer(model: LLM, server: FakeModelServer) -> None:
    server.body = [said({"content": "Good "}), said({"content": "morning."}, "stop"), DONE]
    result = await answer(model, **asked())
    assert result.text == "Good morning."
    assert server.requests[0]["messages"][0] == {"role": "system", "content": PROMPT}


async def test_prewarm_sends_the_very_prefix_of_the_first_turn(server: FakeModelServer) -> None:
    server.body = [said({"content": "Hi."}, "stop"), DONE]
    body = {"chat_template_kwargs": {"enable_thinking": False}}
    async with LLM(
        url=server.url, model="m", instructions=PROMPT, tools=[opening_hours], extra_body=body
    ) as model:
        model.prewarm()
        assert model._prewarm_task is not None
        await model._prewarm_task
        await answer(model, **asked(tools=True))
    warm, turn = server.requests
    assert warm["max_tokens"] == 1
    for field in ("model", "tools", "chat_template_kwargs"):
        assert json.dumps(warm[field]) == json.dumps(turn[field])
    assert warm["messages"][0] == turn["messages"][0]


async def test_prewarm_without_a_prompt_only_connects(model: LLM, server: FakeModelServer) -> None:
    await model._prewarm_impl()
    assert server.models_listed == 1
    assert server.requests == []


async def test_a_prewarm_that_fails_is_logged_and_no_more(
    server: FakeModelServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.status = 500
    async with LLM(url=server.url, model="m", instructions=PROMPT) as model:
        await model._prewarm_impl()
    assert "prewarm failed" in caplog.text


async def test_options_reach_the_server(server: FakeModelServer) -> None:
    server.body = [said({"content": "Hi."}, "stop"), DONE]
    async with LLM(url=server.url, model="m", temperature=0.3, max_tokens=99) as model:
        await answer(model, **asked(tools=True), tool_choice="none", parallel_tool_calls=False)
    request = server.requests[0]
    assert (request["temperature"], request["max_tokens"]) == (0.3, 99)
    assert (request["tool_choice"], request["parallel_tool_calls"]) == ("none", False)
    parameters = request["tools"][0]["function"]["parameters"]
    assert "day" not in parameters.get("required", [])


async def test_a_stream_that_stops_is_a_timeout_though_bytes_still_come(
    model: LLM, server: FakeModelServer
) -> None:
    server.comment_forever = True
    with pytest.raises(APITimeoutError) as caught:
        await answer(model, APIConnectOptions(max_retry=0, timeout=0.2), **asked())
    assert caught.value.retryable


async def test_a_stop_after_words_is_not_retried(model: LLM, server: FakeModelServer) -> None:
    server.body = [said({"content": "Good "})]
    server.comment_forever = True
    with pytest.raises(APITimeoutError) as caught:
        await answer(model, APIConnectOptions(max_retry=2, timeout=0.2), **asked())
    assert not caught.value.retryable
    assert len(server.requests) == 1


async def test_a_slow_answer_is_no_stop(model: LLM, server: FakeModelServer) -> None:
    words = [said({"content": "word "}) for _ in range(5)]
    server.body = [*words, said({}, "stop"), DONE]
    server.pause_s = 0.25  # longer than the limit in all, shorter between two words
    result = await answer(model, APIConnectOptions(max_retry=0, timeout=1.0), **asked())
    assert result.text.split() == ["word"] * 5


async def test_a_tool_call_without_an_id_is_kept(model: LLM, server: FakeModelServer) -> None:
    server.body = [
        said(call(name="opening_hours", arguments="")),
        said(call(arguments="{}")),
        said({}, "tool_calls"),
        DONE,
    ]
    result = await answer(model, **asked(tools=True))
    (tool_call,) = result.tool_calls
    assert (tool_call.name, tool_call.arguments) == ("opening_hours", "{}")
    assert tool_call.call_id.startswith("call_")


@pytest.mark.parametrize("finish", ["length", None])
async def test_a_tool_call_cut_off_is_an_error(
    model: LLM, server: FakeModelServer, finish: str | None
) -> None:
    server.body = [said(call(name="opening_hours", arguments='{"da')), said({}, finish), DONE]
    with pytest.raises(APIError, match="cut off inside a tool call") as caught:
        await answer(model, **asked(tools=True))
    assert caught.value.retryable


async def test_arguments_of_no_tool_are_an_error(model: LLM, server: FakeModelServer) -> None:
    server.body = [said(call(arguments="{}")), DONE]
    with pytest.raises(APIConnectionError) as caught:
        await answer(model, **asked(tools=True))
    assert "before a tool's name" in str(caught.value)


@pytest.mark.parametrize("line", ["data: {nonsense", "data: []", 'data: {"choices": 5}'])
async def test_nonsense_is_an_api_error(model: LLM, server: FakeModelServer, line: str) -> None:
    server.body = [line, DONE]
    with pytest.raises(APIError):
        await answer(model, **asked())


@pytest.mark.parametrize(("status", "retryable"), [(429, True), (500, True), (401, False)])
async def test_a_refusal_is_a_status_error(
    model: LLM, server: FakeModelServer, status: int, retryable: bool
) -> None:
    server.status = status
    with pytest.raises(APIStatusError) as caught:
        await answer(model, **asked())
    assert caught.value.status_code == status
    assert caught.value.retryable is retryable


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("no_such_tool", "{}"), ("opening_hours", "[1"), ("opening_hours", '{"day": {"a": 1}}')],
)
async def test_the_framework_turns_nonsense_calls_into_tool_errors(
    name: str, arguments: str
) -> None:
    """What `LLM` relies on and does not do itself."""
    tool_call = llm.FunctionToolCall(name=name, arguments=arguments, call_id="1")
    result = await llm.execute_function_call(tool_call, llm.ToolContext([opening_hours]))
    assert result.fnc_call_out is not None
    assert result.fnc_call_out.is_error


async def test_a_plain_url_reads_no_certificates(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*_: object) -> None:
        raise AssertionError("certificates were read")

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", read)
    monkeypatch.setattr(ssl, "create_default_context", read)
    server.body = [said({"content": "Hi!"}, "stop"), DONE]
    async with LLM(url=server.url, model="m") as model:
        answer = await model.chat(**asked(), conn_options=ONCE).collect()
    assert answer.text == "Hi!"


async def test_closing_closes_the_connections(server: FakeModelServer) -> None:
    server.body = [said({"content": "Hi!"}, "stop"), DONE]
    model = LLM(url=server.url, model="m")
    await model.chat(**asked(), conn_options=ONCE).collect()
    await model.aclose()
    assert model._client.is_closed()


async def test_a_response_format_is_refused(model: LLM) -> None:
    with pytest.raises(ValueError, match="response_format"):
        model.chat(**asked(), response_format={"type": "json_object"})
