import json
from typing import Any

import pytest

from language_server.errors import BadRequest, ModelNotFound, RequestError, UnknownParameter
from language_server.request_body import check_request
from language_server.settings import LanguageServerSettings
from language_server.vllm.request import ModelRequest

SETTINGS = LanguageServerSettings()
HELLO = [{"role": "user", "content": "Hello."}]


def read(**fields: Any) -> ModelRequest:
    body = json.dumps({"model": "m", "messages": HELLO, **fields}).encode()
    return check_request(body, ModelRequest, "m", SETTINGS)


def sent(most_tokens: int = 512, **fields: Any) -> dict[str, Any]:
    return read(**fields).vllm_body("m", most_tokens)


def test_a_plain_request() -> None:
    assert sent() == {
        "model": "m", "messages": HELLO, "max_completion_tokens": 512, "priority": 0,
    }  # fmt: skip


def test_everything_that_a_call_needs_arrives() -> None:
    tool = {
        "type": "function",
        "function": {
            "name": "hours",
            "description": "When.",
            "parameters": {"type": "object", "properties": {"day": {"type": "string"}}},
        },
    }
    call = {"id": "1", "type": "function", "function": {"name": "hours", "arguments": "{}"}}
    messages = [
        {"role": "system", "content": "You …"},
        {"role": "user", "content": [{"type": "text", "text": "When?"}]},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "{}"},
    ]
    fields = {
        "messages": messages, "tools": [tool], "tool_choice": "auto", "parallel_tool_calls": False,
        "stream": True, "stream_options": {"include_usage": True}, "temperature": 0.3,
        "top_p": 0.9, "stop": ["x"], "seed": 5, "cache_salt": "tenant-1",
        "chat_template_kwargs": {"enable_thinking": False}, "priority": 10,
    }  # fmt: skip
    body = sent(**fields)
    assert {name: body[name] for name in fields} == fields


def test_the_order_inside_a_schema_stays() -> None:
    properties = {name: {"type": "string"} for name in ("zebra", "apple", "mango")}
    tool = {
        "type": "function",
        "function": {"name": "f", "parameters": {"properties": properties, "type": "object"}},
    }
    (made,) = sent(tools=[tool])["tools"]
    parameters = made["function"]["parameters"]
    assert json.dumps(parameters) == json.dumps(tool["function"]["parameters"])  # type: ignore[index]


@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({}, 512),
        ({"max_tokens": 20}, 20),
        ({"max_completion_tokens": 30, "max_tokens": 20}, 30),
        ({"max_tokens": 10**9}, 512),
    ],
)
def test_answers_are_bounded(fields: dict[str, int], limit: int) -> None:
    body = sent(**fields)
    assert body["max_completion_tokens"] == limit
    assert "max_tokens" not in body


def test_the_least_length_is_not_above_the_longest() -> None:
    assert sent(min_tokens=10**9)["min_tokens"] == 512


def test_what_a_message_has_besides_does_not_pass() -> None:
    message = {**HELLO[0], "mm_processor_kwargs": {"x": 1}, "name": "x"}
    assert sent(messages=[message])["messages"] == HELLO


def test_bookkeeping_is_named_and_does_not_pass() -> None:
    request = read(store=True, metadata={"a": "b"}, n=1, user="room-1")
    assert request.ignored_parameters == ("metadata", "store")
    assert not {"store", "metadata", "n", "user"} & set(request.vllm_body("m", 5))


@pytest.mark.parametrize(
    "name",
    [
        "mm_processor_kwargs", "chat_template", "kv_transfer_params", "vllm_xargs", "documents",
        "structured_outputs", "guided_json", "prompt_logprobs", "logits_processors", "echo",
        "media_io_kwargs", "data_parallel_rank", "request_id", "use_beam_search",
        "return_token_ids", "bad_words", "allowed_token_ids", "stop_token_ids", "audio",
    ],
)  # fmt: skip
def test_vllm_s_own_fields_are_refused(name: str) -> None:
    with pytest.raises(UnknownParameter, match=name):
        read(**{name: {"x": 1}})


@pytest.mark.parametrize(
    "fields",
    [
        {"priority": -1},
        {"priority": 21},
        {"priority": 10**30},
        {"n": 2},
        {"temperature": 9},
        {"top_p": 0},
        {"seed": 2**64},
        {"cache_salt": "a b"},
        {"cache_salt": ""},
        {"chat_template_kwargs": {"messages": []}},
        {"messages": []},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]},
        {"response_format": {"type": "grammar"}},
        {"user": "x" * 300},
        {"logprobs": True},
    ],
)
def test_values_out_of_bounds_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        read(**fields)


def test_another_model_is_not_found() -> None:
    with pytest.raises(ModelNotFound):
        read(model="other")


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"[" * 200_000, b"null", b'{"model": 5}'])
def test_nonsense_is_refused(body: bytes) -> None:
    with pytest.raises(RequestError):
        check_request(body, ModelRequest, "m", SETTINGS)
