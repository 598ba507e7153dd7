"""The responder over real sockets, asked by the clients that it is made for."""

import asyncio
import json
from typing import Any

import httpx
import openai
import pytest
from livekit.agents import llm
from livekit.plugins import openai as livekit_openai

from tests.contract.responder.responder_server import MODEL, SYSTEM, body, said
from tests.unit.language_server.front_desk import BOOK, OPENAI_TOOLS


async def test_a_plain_answer(client: openai.AsyncOpenAI) -> None:
    tools: Any = OPENAI_TOOLS
    completion = await client.chat.completions.create(
        model=MODEL, messages=said("Hello."), tools=tools
    )
    choice = completion.choices[0]
    assert "help" in (choice.message.content or "")
    assert choice.finish_reason == "stop"
    assert completion.usage is not None
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0
    assert completion.usage.prompt_tokens_details is not None
    assert completion.usage.prompt_tokens_details.cached_tokens == 0
    assert "not-a-language-model" in (completion.system_fingerprint or "")


async def test_a_streamed_tool_call_and_the_answer_to_its_result(
    client: openai.AsyncOpenAI,
) -> None:
    tools: Any = OPENAI_TOOLS
    stream = await client.chat.completions.create(
        model=MODEL,
        messages=said(BOOK),
        tools=tools,
        stream=True,
        stream_options={"include_usage": True},
        temperature=0.2,
        parallel_tool_calls=True,
    )
    name, call_id, pieces, reason, usage = "", "", [], None, None
    async for chunk in stream:
        if not chunk.choices:
            usage = chunk.usage
            continue
        delta = chunk.choices[0].delta
        for call in delta.tool_calls or ():
            assert call.function is not None
            name, call_id = name or call.function.name or "", call_id or call.id or ""
            pieces.append(call.function.arguments or "")
        reason = chunk.choices[0].finish_reason or reason
    assert name == "book_appointment"
    assert len(pieces) > 3
    arguments = json.loads("".join(pieces))
    assert arguments == {"name": "Peter Miller", "day": "2026-11-24", "time": "15:30"}
    assert reason == "tool_calls"
    assert usage is not None
    assert usage.completion_tokens > 0

    function = {"name": name, "arguments": "".join(pieces)}
    messages = [
        *said(BOOK),
        {
            "role": "assistant",
            "tool_calls": [{"id": call_id, "type": "function", "function": function}],
        },
        {
            "role": "tool",
            "tool_call_id": call_id,
            "content": json.dumps({"appointment_id": "1", **arguments}),
        },
    ]
    stream = await client.chat.completions.create(
        model=MODEL, messages=messages, tools=tools, stream=True
    )
    words = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert "three thirty p.m." in "".join(words)
    assert len(words) > 10


@pytest.mark.parametrize(
    ("choice", "reason"),
    [
        ("auto", "tool_calls"),
        ("none", "stop"),
        ("required", "tool_calls"),
        ({"type": "function", "function": {"name": "opening_hours"}}, "stop"),
    ],
)
async def test_tool_choice(client: openai.AsyncOpenAI, choice: Any, reason: str) -> None:
    tools: Any = OPENAI_TOOLS
    completion = await client.chat.completions.create(
        model=MODEL,
        messages=said("What are your opening hours?"),
        tools=tools,
        tool_choice=choice,
    )
    answer = completion.choices[0]
    assert answer.finish_reason == reason
    assert bool(answer.message.tool_calls) is (choice != "none")


async def test_limits_and_stops(client: openai.AsyncOpenAI) -> None:
    short = await client.chat.completions.create(model=MODEL, messages=said("Hi"), max_tokens=1)
    assert short.choices[0].finish_reason == "length"
    cut = await client.chat.completions.create(model=MODEL, messages=said("Hi"), stop="script")
    assert "script" not in (cut.choices[0].message.content or "")
    assert cut.choices[0].message.content


async def test_the_model_list_says_that_it_is_a_script(client: openai.AsyncOpenAI) -> None:
    models = [model async for model in client.models.list()]
    assert [model.id for model in models] == [MODEL]
    model = (await client.models.retrieve(MODEL)).to_dict()
    assert model["kind"] == "script"
    assert "not a language model" in str(model["description"])
    with pytest.raises(openai.NotFoundError):
        await client.models.retrieve("gpt-99")


async def test_ignored_parameters_are_named(http: httpx.AsyncClient) -> None:
    answer = await http.post("/v1/chat/completions", json=body(temperature=1, top_p=0.5))
    assert answer.headers["x-ignored-parameters"] == "temperature,top_p"
    assert "not-a-language-model" in answer.headers["x-model-kind"]


async def test_calls_at_once_do_not_mix(client: openai.AsyncOpenAI) -> None:
    async def name_booked(name: str) -> str:
        tools: Any = OPENAI_TOOLS
        completion = await client.chat.completions.create(
            model=MODEL,
            messages=said(f"Book me for Tuesday at three thirty. My name is {name}."),
            tools=tools,
        )
        calls: Any = completion.choices[0].message.tool_calls
        return str(json.loads(calls[0].function.arguments)["name"])

    names = [f"Peter {last}" for last in ("Miller", "Smith", "Brown", "Jones", "Taylor")] * 4
    assert await asyncio.gather(*map(name_booked, names)) == names


async def test_livekit_s_own_plugin(url: str) -> None:
    @llm.function_tool
    async def book_appointment(name: str, day: str, time: str, reason: str | None = None) -> str:
        """Book an appointment."""
        return ""

    @llm.function_tool
    async def end_call() -> str:
        """Hang up."""
        return ""

    model = livekit_openai.LLM(
        model=MODEL,
        base_url=f"{url}/v1",
        api_key="none",
        temperature=0.5,
        metadata={"room": "x"},
        parallel_tool_calls=True,
        prompt_cache_key="x",
    )
    chat = llm.ChatContext.empty()
    for message in SYSTEM:
        chat.add_message(role="system", content=message["content"])
    chat.add_message(role="user", content=BOOK)
    answer = await model.chat(chat_ctx=chat, tools=[book_appointment, end_call]).collect()
    assert [call.name for call in answer.tool_calls] == ["book_appointment"]
    assert json.loads(answer.tool_calls[0].arguments) == {
        "name": "Peter Miller",
        "day": "2026-11-24",
        "time": "15:30",
        "reason": None,
    }
    assert answer.usage is not None
    chat.add_message(role="user", content="Thank you, goodbye.")
    answer = await model.chat(chat_ctx=chat, tools=[book_appointment, end_call]).collect()
    assert "oodbye" in (answer.text or "")
    assert [call.name for call in answer.tool_calls] == ["end_call"]
    await model.aclose()
