"""Tools of a real MCP server: only the allowed ones, bounded, by scope, and dispensable."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import psutil
import pytest
from livekit.agents import llm

from tests.contract.text_call import TextCaller, serving
from tests.mcp_weather import FORECAST, PROGRAM, weather_application, weather_persona
from tests.unit.voice_agent.scripted_llm import Reply, ScriptedLLM, ToolCall
from tests.unit.voice_agent.test_tools import FakeRun
from voice_agent.agents import connect_mcp
from voice_agent.personas import Persona
from voice_agent.scopes import Scope
from voice_agent.tools import mcp_tools
from voice_agent.tools.mcp_tools import McpConnections

pytest.importorskip("mcp")

TOOLS: dict[str, dict[str, Any]] = {
    # The longest of them is what an answer of the server may take, the first one included.
    "forecast": {**FORECAST["forecast"], "timeout_s": 30},
    "measured": {"description": "The weather now.", "needs": ["caller:verified"]},
    "raises": {"description": "Raises."},
    "hangs": {"description": "Hangs.", "timeout_s": 0.3},
    "floods": {"description": "Floods."},
    "missing": {"description": "The server has no such tool."},
}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Starting a server takes long on a busy machine, and is not what is tested."""
    monkeypatch.setattr(mcp_tools, "CONNECT_TIMEOUT_S", 60.0)


def persona(folder: Path, server: dict[str, Any]) -> Persona:
    return weather_persona(folder, server, TOOLS, own_tools=["verify_identity"])


@asynccontextmanager
async def placed(transport: str) -> AsyncIterator[dict[str, Any]]:
    """The server at work; yields how a persona's file says where it is."""
    if transport == "stdio":
        yield {"command": [sys.executable, str(PROGRAM)]}
        return
    async with serving(weather_application()) as address:
        yield {"url": f"{address}/mcp"}


@asynccontextmanager
async def conversation(
    transport: str, folder: Path, *steps: Reply | list[Reply]
) -> AsyncIterator[TextCaller]:
    async with placed(transport) as server:
        house = persona(folder, server)
        connections = McpConnections()
        tools = await connect_mcp(house, connections)
        caller = TextCaller(
            ScriptedLLM(*steps), house, folder / "app.db", datetime.now, mcp_tools=tools
        )
        try:
            async with caller:
                yield caller
        finally:
            await connections.aclose()


def results(caller: TextCaller) -> list[Any]:
    """What the model was told by its tools in the last request."""
    assert isinstance(caller.model, ScriptedLLM)
    return [
        json.loads(message["content"])
        for message in caller.model.requests[-1]
        if message["role"] == "tool"
    ]


@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_an_allowed_tool_is_called(transport: str, tmp_path: Path) -> None:
    ask = ToolCall("weather_forecast", '{"place": "Riverside", "days": 2}')
    async with conversation(transport, tmp_path, ask, "Sunny.") as caller:
        assert await caller.say("How will the weather be?") == "Sunny."
        assert results(caller) == [{"result": "Sunny in Riverside for 2 days."}]


async def test_only_allowed_tools_reach_the_model_in_the_operators_words(tmp_path: Path) -> None:
    async with conversation("stdio", tmp_path) as caller:
        context = llm.ToolContext(list(caller.agents.first_tools))
        schemas: Any = context.parse_function_tools("openai", strict=False)
        names = [schema["function"]["name"] for schema in schemas]
        assert names == [
            "verify_identity",
            *(f"weather_{name}" for name in ("forecast", "measured", "raises", "hangs", "floods")),
        ]
        assert "IGNORE" not in json.dumps(schemas)
        assert schemas[1]["function"]["description"] == "The weather of the coming days."


async def test_a_server_that_misbehaves_is_an_error_for_the_model(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[Reply] = [
        ToolCall("weather_raises", "{}"),
        ToolCall("weather_hangs", "{}"),
        ToolCall("weather_floods", "{}"),
        ToolCall("weather_forecast", '{"place": []}'),
        ToolCall("weather_forecast", json.dumps({"place": "x" * 5000})),
        ToolCall("weather_forget", '{"place": "x"}'),
    ]
    async with conversation("stdio", tmp_path, calls, "Sorry.", "Here.") as caller:
        assert await caller.say("How will the weather be?") == "Sorry."
        assert isinstance(caller.model, ScriptedLLM)
        told = [m["content"] for m in caller.model.requests[-1] if m["role"] == "tool"]
        assert len(told) == len(calls)
        assert all(len(text) < 500 for text in told)
        assert caller.tools_run == []
        assert await caller.say("Are you there?") == "Here."


async def test_a_tool_with_a_scope_waits_for_it(tmp_path: Path) -> None:
    measure = ToolCall("weather_measured", '{"place": "Riverside", "verified": true}')
    async with conversation("stdio", tmp_path, measure, "No.", measure, "Yes.") as caller:
        await caller.say("How warm is it?")
        assert "error" in results(caller)[0]
        caller.context.grants.earn(Scope.CALLER_VERIFIED)
        await caller.say("And now?")
        assert results(caller)[-1] == {"celsius": 21}


@pytest.mark.parametrize(
    "server",
    [
        {"url": "http://127.0.0.1:9/mcp"},
        {"command": ["/nowhere/at-all"]},
        {"command": [sys.executable, "-c", "raise SystemExit(1)"]},
        {"command": [sys.executable, "-c", "import time; time.sleep(60)"]},
    ],
    ids=["no port", "no program", "ends", "silent"],
)
async def test_a_server_that_is_not_there_costs_its_tools_and_not_the_call(
    server: dict[str, Any],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mcp_tools, "CONNECT_TIMEOUT_S", 0.5)
    house = persona(tmp_path, server)
    connections = McpConnections()
    tools = await asyncio.wait_for(connect_mcp(house, connections), 30)
    await asyncio.wait_for(connections.aclose(), 30)
    assert tools == {None: []}
    assert any(record.message == "MCP server left out" for record in caplog.records)


async def test_a_server_that_dies_in_the_call_is_an_error_for_the_model(tmp_path: Path) -> None:
    # The tests' own servers are children of this process too.
    before = set(psutil.Process().children())
    async with conversation("stdio", tmp_path) as caller:
        (tool,) = [
            tool
            for tool in caller.agents.first_tools
            if isinstance(tool, llm.RawFunctionTool) and tool.id == "weather_forecast"
        ]
        (child,) = set(psutil.Process().children()) - before
        child.kill()
        answer: Any = await tool({"place": "Riverside"}, FakeRun())  # type: ignore[arg-type]
        assert "error" in json.loads(answer)
