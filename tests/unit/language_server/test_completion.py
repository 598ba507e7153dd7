import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.completion import chunk_bodies, complete, whole_body
from language_server.dialogue.state import Reply
from language_server.dialogue.toolbox import PlannedCall
from language_server.protocol import ChatRequest
from tests.unit.language_server.front_desk import OPENAI_TOOLS

CALL = PlannedCall("find_appointment", {"name": "Zo\u00eb Miller"})


def request(**fields: object) -> ChatRequest:
    body = {"model": "parley-responder", "messages": [{"role": "user", "content": "hello there"}]}
    return ChatRequest.model_validate({**body, **fields})


def test_words_alone() -> None:
    completion = complete(Reply("Hello. How can I help?"), request())
    body = whole_body(completion)
    assert body["choices"][0]["message"]["content"] == "Hello. How can I help?"
    assert body["choices"][0]["finish_reason"] == "stop"
    assert "tool_calls" not in body["choices"][0]["message"]
    usage = body["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"] == {"cached_tokens": 0}
    assert "not-a-language-model" in body["system_fingerprint"]


def test_words_and_a_call() -> None:
    body = whole_body(complete(Reply("One moment.", (CALL,)), request()))
    choice = body["choices"][0]
    assert choice["finish_reason"] == "tool_calls"
    assert choice["message"]["content"] == "One moment."
    assert json.loads(choice["message"]["tool_calls"][0]["function"]["arguments"]) == CALL.arguments


def test_a_call_alone_has_no_content() -> None:
    body = whole_body(complete(Reply("", (CALL,)), request()))
    assert body["choices"][0]["message"]["content"] is None


def test_a_call_demanded_by_name_ends_with_stop() -> None:
    named = {"type": "function", "function": {"name": "find_appointment"}}
    completion = complete(Reply("", (CALL,)), request(tools=OPENAI_TOOLS, tool_choice=named))
    assert completion.finish_reason == "stop"


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_the_token_limit_is_kept(field: str) -> None:
    completion = complete(Reply("one two three four", (CALL,)), request(**{field: 2}))
    assert "".join(completion.content) == "one two"
    assert completion.calls == ()
    assert completion.finish_reason == "length"
    assert completion.usage.completion_tokens == 2


def test_an_exact_limit_is_no_cut() -> None:
    assert complete(Reply("one two"), request(max_tokens=2)).finish_reason == "stop"


def test_a_call_can_be_cut() -> None:
    completion = complete(Reply("", (CALL,)), request(max_tokens=3))
    assert completion.finish_reason == "length"
    assert completion.usage.completion_tokens == 3


@pytest.mark.parametrize("stop", ["three", ["four", "three", ""]])
def test_the_answer_ends_before_a_stop(stop: object) -> None:
    completion = complete(Reply("one two three four", (CALL,)), request(stop=stop))
    assert "".join(completion.content) == "one two "
    assert completion.calls == ()
    assert completion.finish_reason == "stop"


@given(st.text(max_size=200), st.booleans(), st.one_of(st.none(), st.integers(1, 30)))
def test_a_stream_says_the_same_as_the_whole(text: str, with_call: bool, limit: int | None) -> None:
    reply = Reply(text, (CALL, CALL) if with_call else ())
    completion = complete(reply, request(max_tokens=limit))
    content, arguments, reasons, usage = "", ["", ""], [], None
    for body in chunk_bodies(completion, include_usage=True):
        if not body["choices"]:
            usage = body["usage"]
            continue
        choice = body["choices"][0]
        content += choice["delta"].get("content") or ""
        for call in choice["delta"].get("tool_calls", ()):
            arguments[call["index"]] += call["function"]["arguments"]
        if choice["finish_reason"]:
            reasons.append(choice["finish_reason"])
    message = whole_body(completion)["choices"][0]["message"]
    assert content == (message["content"] or "")
    said = [call["function"]["arguments"] for call in message.get("tool_calls", ())]
    assert [text for text in arguments if text] == [text for text in said if text]
    assert reasons == [completion.finish_reason]
    assert usage == completion.usage.model_dump()
    assert limit is None or completion.usage.completion_tokens <= limit
