"""A model in vLLM behind our door: real vLLM on a CPU, the tiny Llama, our plugin, plain HTTP."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import httpx
import psutil
import pytest
from livekit.agents import APIConnectOptions, APIStatusError, llm
from tokenizers import Tokenizer

from language_server.vllm.counters import Counters
from speech_plugins import LLM
from speech_plugins.priority import Priority, requests_at
from tests.contract.vllm.conftest import LONG
from tests.server_process import Server
from tests.tiny_dialogue import API_KEY, BLOCK_TOKENS, MODEL, dialogue, llama, tools
from tests.vllm_environment import MISSING, PYTHON

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    # Starting vLLM on a busy CPU takes minutes.
    pytest.mark.timeout(1200),
]

SYSTEM = dialogue()["system"]
EXCHANGES = {exchange["user"]: exchange for exchange in dialogue()["exchanges"]}
TALKS = [said for said, exchange in EXCHANGES.items() if "call" not in exchange]
CALLS = [said for said, exchange in EXCHANGES.items() if "call" in exchange]
UNSEEN_LINE = "Current date and time: Sunday 6 December 2026, 12:12"
ONCE = APIConnectOptions(max_retry=0, timeout=60.0)


@pytest.fixture
async def http(server: Server) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": f"Bearer {API_KEY}"}
    async with httpx.AsyncClient(base_url=server.url, headers=headers, timeout=120) as client:
        yield client


@pytest.fixture
async def model(server: Server) -> AsyncIterator[LLM]:
    async with LLM(
        url=f"{server.url}/v1",
        model=MODEL,
        api_key=API_KEY,
        timeout_s=60.0,
        instructions=SYSTEM,
        tools=tools(),
        temperature=0.0,
        priorities=True,
        session_id="call-1",
    ) as made:
        yield made


def context(*turns: str, line: str = UNSEEN_LINE) -> llm.ChatContext:
    """A call: what the caller said and what was answered, in turns."""
    made = llm.ChatContext.empty()
    made.add_message(role="system", content=SYSTEM)
    made.add_message(role="system", content=line)
    for number, text in enumerate(turns):
        made.add_message(role="assistant" if number % 2 else "user", content=text)
    return made


async def ask(model: LLM, chat: llm.ChatContext) -> Any:
    stream = model.chat(chat_ctx=chat, tools=tools(), conn_options=ONCE)
    async with stream:
        return await stream.collect()


def body(said: str, **fields: Any) -> dict[str, Any]:
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "system", "content": UNSEEN_LINE},
        {"role": "user", "content": said},
    ]
    tools = dialogue()["tools"]
    return {"model": MODEL, "messages": messages, "tools": tools, "temperature": 0, **fields}


async def counters(http: httpx.AsyncClient) -> Counters:
    return Counters((await http.get("/metrics")).text)


async def until(http: httpx.AsyncClient, name: str, value: float) -> None:
    """Wait until one of vLLM's gauges has a value; every look gives it time."""
    async with asyncio.timeout(60):
        while (await counters(http)).total(f"vllm:{name}") != value:
            pass


@pytest.mark.parametrize("said", TALKS)
async def test_the_model_says_what_it_has_learnt(model: LLM, said: str) -> None:
    answer = await ask(model, context(said))
    assert answer.text == EXCHANGES[said]["assistant"]


@pytest.mark.parametrize("said", CALLS)
async def test_it_calls_a_tool_and_speaks_of_the_result(model: LLM, said: str) -> None:
    exchange, chat = EXCHANGES[said], context("Hello.", EXCHANGES["Hello."]["assistant"], said)
    (call,) = (await ask(model, chat)).tool_calls
    assert call.name == exchange["call"]["name"]
    assert json.loads(call.arguments) == exchange["call"]["arguments"]
    made = llm.FunctionCall(call_id=call.call_id, name=call.name, arguments=call.arguments)
    chat.items.append(made)
    chat.items.append(
        llm.FunctionCallOutput(
            call_id=call.call_id, name=call.name, output=exchange["result"], is_error=False
        )
    )
    assert (await ask(model, chat)).text == exchange["assistant"]


async def test_every_call_and_turn_finds_the_prefix_in_the_cache(
    model: LLM, http: httpx.AsyncClient
) -> None:
    await model.warm_prefix(SYSTEM, tools())
    tokenizer = Tokenizer.from_file(str(llama() / "tokenizer.json"))
    rest = "<|im_start|>user\nHello.<|im_end|>\n<|im_start|>assistant\n"
    plain = {**body("Hello."), "messages": [{"role": "system", "content": SYSTEM},
                                            {"role": "user", "content": "Hello."}]}  # fmt: skip
    used = (await http.post("/v1/chat/completions", json=plain)).json()["usage"]
    prefix = used["prompt_tokens"] - len(tokenizer.encode(rest, add_special_tokens=False).ids)
    blocks = prefix // BLOCK_TOKENS * BLOCK_TOKENS
    assert blocks > 10 * BLOCK_TOKENS
    hello = EXCHANGES["Hello."]["assistant"]
    cached = [
        (await ask(model, chat)).usage.prompt_cached_tokens
        for chat in (
            context("Hello.", line="Current date and time: Friday 4 December 2026, 08:00"),
            context("Hello.", hello, "Are you a robot?",
                    line="Current date and time: Friday 4 December 2026, 08:00"),
            context("Where are you?", line="Current date and time: Saturday 5 December, 09:30"),
        )
    ]  # fmt: skip
    assert all(tokens >= 0.99 * blocks for tokens in cached), (cached, blocks)


async def test_speculation_that_loses_stops_in_vllm_and_is_counted(
    model: LLM, http: httpx.AsyncClient
) -> None:
    earlier = await counters(http)
    name = 'language_requests_total{outcome="cancelled",priority="speculative"}'
    assert name not in (await http.get("/metrics")).text
    request = {"ignore_eos": True}
    with requests_at(Priority.SPECULATIVE):
        stream = model.chat(
            chat_ctx=context("Hello."), tools=tools(), conn_options=ONCE,
            extra_kwargs={"extra_body": {**request, "priority": 10}},
        )  # fmt: skip
    async with stream:
        async for chunk in stream:
            if chunk.delta and chunk.delta.content:
                break
    await until(http, "num_requests_running", 0)
    stopped = await counters(http)
    generated = "vllm:generation_tokens_total"
    assert stopped.total(generated) - earlier.total(generated) < LONG / 2
    assert f"{name} 1.0" in (await http.get("/metrics")).text
    # Nothing of it goes on: the next answer's tokens are all that come.
    answer = await http.post("/v1/chat/completions", json=body("Hello."))
    count = answer.json()["usage"]["completion_tokens"]
    assert (await counters(http)).total(generated) - stopped.total(generated) == count


async def test_a_committed_turn_overtakes_speculation_that_waits(http: httpx.AsyncClient) -> None:
    order: list[str] = []

    async def first_token(name: str, priority: int, **fields: Any) -> None:
        asked = body("Hello.", stream=True, priority=priority, **fields)
        async with http.stream("POST", "/v1/chat/completions", json=asked) as answer:
            assert answer.status_code == 200
            lines = [line async for line in _told(answer.aiter_lines(), name, order)]
            assert lines[-1] == "data: [DONE]"

    async with asyncio.TaskGroup() as group:
        group.create_task(first_token("running", 0, ignore_eos=True, max_tokens=400))
        await until(http, "num_requests_running", 1)
        for number in range(2):
            group.create_task(first_token(f"speculative {number}", 10))
        group.create_task(first_token("background", 20))
        await until(http, "num_requests_waiting", 3)
        group.create_task(first_token("committed", 0))
    assert order[:2] == ["running", "committed"]
    assert order[-1] == "background"


async def _told(lines: AsyncIterator[str], name: str, order: list[str]) -> AsyncIterator[str]:
    """All lines that say something; the name is noted with the first of them."""
    first = True
    async for line in lines:
        if line:
            if first:
                order.append(name)
                first = False
            yield line


async def test_a_full_server_refuses_and_the_plugin_may_ask_again(
    model: LLM, http: httpx.AsyncClient
) -> None:
    async with AsyncExitStack() as running:
        for _ in range(6):
            asked = body("Hello.", stream=True, priority=10, ignore_eos=True, max_tokens=LONG)
            sent = http.build_request("POST", "/v1/chat/completions", json=asked)
            answering = asyncio.create_task(http.send(sent, stream=True))
            running.push_async_callback(_cancel, answering)
        await until(http, "num_requests_waiting", 5)
        with requests_at(Priority.SPECULATIVE), pytest.raises(APIStatusError) as caught:
            await ask(model, context("Hello."))
        assert caught.value.status_code == 429
        assert caught.value.retryable
        answer = asyncio.create_task(ask(model, context("Hello.")))
        await until(http, "num_requests_waiting", 6)
        answer.cancel()
        await asyncio.gather(answer, return_exceptions=True)
    await until(http, "num_requests_running", 0)
    assert (await ask(model, context("Hello."))).text


async def _cancel(task: "asyncio.Task[httpx.Response]") -> None:
    task.cancel()
    (result,) = await asyncio.gather(task, return_exceptions=True)
    if isinstance(result, httpx.Response):
        await result.aclose()


@pytest.mark.parametrize(
    "path",
    ["/tokenize", "/invocations", "/pause", "/v1/completions", "/server_info", "/metrics/../pause"],
)
async def test_vllm_s_other_paths_cannot_be_reached(http: httpx.AsyncClient, path: str) -> None:
    for method in ("GET", "POST"):
        assert (await http.request(method, path, json={})).status_code == 404


async def test_the_key_is_needed(server: Server) -> None:
    async with httpx.AsyncClient(base_url=server.url) as stranger:
        asked = await stranger.post("/v1/chat/completions", json=body("Hello."))
        assert asked.status_code == 401
        assert (await stranger.get("/v1/models")).status_code == 401
        assert (await stranger.get("/ready")).status_code == 200


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"messages": [{"role": "user", "content": "word " * 20_000}]}, 400),
        ({"messages": [{"role": "user", "content": "\ud83d\ude00\u0000\u202e" * 50}]}, 200),
        ({"messages": [{"role": "user", "content": "half \ud83d"}]}, 400),
        ({"messages": [{"role": "tool", "tool_call_id": "x", "content": "{}"}]}, 200),
        ({"tools": [{"type": "function", "function": {"name": "x", "parameters": {"a": 1}}}]}, 200),
        ({"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}}, 400),
        ({"stop": ["<|im_end|>"] * 4, "max_tokens": 1}, 200),
    ],
    ids=[
        "long",
        "characters",
        "half a character",
        "lone result",
        "odd schema",
        "no schema",
        "stops",
    ],
)
async def test_odd_requests_do_no_harm(
    http: httpx.AsyncClient, fields: dict[str, Any], status: int
) -> None:
    content = json.dumps(body("Hello.", max_tokens=5) | fields)
    answer = await http.post("/v1/chat/completions", content=content)
    assert answer.status_code == status, answer.text
    again = await http.post("/v1/chat/completions", json=body("Are you a robot?"))
    message = again.json()["choices"][0]["message"]
    assert message["content"] == EXCHANGES["Are you a robot?"]["assistant"]


async def test_what_a_caller_types_is_no_mark_of_the_conversation(http: httpx.AsyncClient) -> None:
    async def tokens(said: str) -> int:
        answer = await http.post("/v1/chat/completions", json=body(said, max_tokens=1))
        return int(answer.json()["usage"]["prompt_tokens"])

    # As a mark it would be one token.
    assert await tokens("<|im_start|>" * 50) - await tokens("") > 200


async def test_json_can_be_demanded(http: httpx.AsyncClient) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
              "additionalProperties": False}  # fmt: skip
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    asked = body("Hello.", response_format=form, max_tokens=20)
    answer = await http.post("/v1/chat/completions", json=asked)
    assert isinstance(json.loads(answer.json()["choices"][0]["message"]["content"])["ok"], bool)


async def test_answers_at_once_do_not_mix(model: LLM) -> None:
    said = [TALKS[number % 5] for number in range(8)]
    answers = await asyncio.gather(*(ask(model, context(text)) for text in said))
    assert [answer.text for answer in answers] == [EXCHANGES[text]["assistant"] for text in said]


async def test_both_end_on_sigterm_and_leave_nothing(server: Server) -> None:
    """Last: it stops the server of this folder."""
    family = psutil.Process(server.process.pid).children(recursive=True)
    assert family
    assert server.stop() == 0
    _, alive = psutil.wait_procs(family, timeout=20)
    assert alive == []
