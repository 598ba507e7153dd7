import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.errors import (
    BadRequest,
    ModelNotFound,
    RequestError,
    TooLarge,
    UnknownParameter,
)
from language_server.protocol import MODEL_ID
from language_server.request_body import parse_request
from language_server.settings import LanguageServerSettings
from tests.unit.language_server.front_desk import OPENAI_TOOLS

SETTINGS = LanguageServerSettings()
USER = {"role": "user", "content": "hello"}


def parse(**fields: Any) -> Any:
    body = {"model": MODEL_ID, "messages": [USER], **fields}
    return parse_request(json.dumps(body).encode(), SETTINGS)


def test_what_the_clients_send_is_accepted() -> None:
    request = parse(
        tools=OPENAI_TOOLS,
        tool_choice="auto",
        parallel_tool_calls=True,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.7,
        top_p=1,
        metadata={"room": "x"},
        user="u",
        seed=1,
        store=False,
        service_tier="auto",
        prompt_cache_key="k",
        chat_template_kwargs={"enable_thinking": False},
        max_completion_tokens=50,
        n=1,
        response_format={"type": "text"},
    )
    assert "temperature" in request.ignored_parameters
    assert "chat_template_kwargs" in request.ignored_parameters
    assert request.token_limit == 50


@pytest.mark.parametrize(
    ("messages", "place"),
    [
        ([], "messages"),
        ("hello", "messages"),
        ([{"role": "wizard", "content": "x"}], "messages.0.role"),
        ([{"content": "x"}], "messages.0.role"),
        ([USER, {"role": "user", "content": 7}], "messages.1.content"),
        ([{"role": "user"}], "messages"),
        ([{"role": "tool", "content": "{}"}], "messages"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}], "messages.0"),
        ([{"role": "assistant", "tool_calls": [{"id": "c"}]}], "messages.0.tool_calls"),
        ([None], "messages.0"),
    ],
)
def test_bad_messages_are_named(messages: object, place: str) -> None:
    with pytest.raises(BadRequest) as caught:
        parse(messages=messages)
    assert place in (caught.value.param or "")


@pytest.mark.parametrize(
    "fields",
    [
        {"n": 2},
        {"logprobs": True},
        {"response_format": {"type": "json_object"}},
        {"max_tokens": 0},
        {"max_tokens": "many"},
        {"stop": ["a", "b", "c", "d", "e"]},
        {"tools": [{"type": "function", "function": {"name": "two words"}}]},
        {"tools": [OPENAI_TOOLS[0], OPENAI_TOOLS[0]]},
        {"tools": OPENAI_TOOLS * 20},
        {"tool_choice": "sometimes"},
        {"tool_choice": "required"},
        {"tool_choice": {"type": "function", "function": {"name": "gone"}}},
        {"model": 3},
        {"modalities": ["audio"]},
    ],
)
def test_what_cannot_be_served_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest):
        parse(**fields)


def test_unknown_parameters_are_named() -> None:
    with pytest.raises(UnknownParameter, match="frobnicate"):
        parse(frobnicate=1)


def test_another_model_is_not_found() -> None:
    with pytest.raises(ModelNotFound, match=MODEL_ID):
        parse(model="gpt-99")


def test_too_many_messages() -> None:
    with pytest.raises(TooLarge):
        parse(messages=[USER] * 10_000)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff\xfe", b"{" * 100_000, b"[" * 100_000, b'"\\ud800"']
)
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises(BadRequest):
        parse_request(body, SETTINGS)


def test_errors_do_not_quote_the_caller() -> None:
    with pytest.raises(BadRequest) as caught:
        parse(messages=[{"role": "user", "content": {"secret": "Peter Miller"}}])
    assert "Miller" not in caught.value.message


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(
        st.sampled_from(["messages", "tools", "tool_choice", "stop", "stream", "n", "model", "x"]),
        JSON,
    )
)
def test_any_json_is_read_or_refused(fields: dict[str, Any]) -> None:
    refused: RequestError | None = None
    try:
        parse(**fields)
    except RequestError as error:
        refused = error
    assert refused is None or 0 < len(refused.message) < 1500
