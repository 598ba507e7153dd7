"""A real MCP server behind a key: let in with the credential, out without it, and no word of it."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.contract.text_call import serving
from tests.mcp_weather import SECRET, VARIABLE, weather_application, weather_persona
from voice_agent.agents import connect_mcp
from voice_agent.tools import mcp_tools
from voice_agent.tools.mcp_tools import McpConnections, McpTool

pytest.importorskip("mcp")

CREDENTIAL = {"variable": VARIABLE, "header": "X-Api-Key"}


class Locked:
    """An application that answers nobody without the key.

    Args:
        app: what is behind the lock.
    """

    def __init__(self, app: Any) -> None:
        self._app = app
        self.keys: list[bytes | None] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            self.keys.append(dict(scope["headers"]).get(b"x-api-key"))
            if self.keys[-1] != SECRET.encode():
                await send({"type": "http.response.start", "status": 401, "headers": []})
                await send({"type": "http.response.body", "body": b""})
                return
        await self._app(scope, receive, send)


@asynccontextmanager
async def connected(folder: Path) -> AsyncIterator[tuple[list[McpTool], Locked]]:
    """The tools that a call gets from a locked server, and the lock."""
    locked = Locked(weather_application())
    async with serving(locked) as address:
        house = weather_persona(folder, {"url": f"{address}/mcp", "credential": CREDENTIAL})
        connections = McpConnections()
        try:
            tools = await connect_mcp(house, connections)
            yield list(tools[None]), locked
        finally:
            await connections.aclose()


@pytest.fixture(autouse=True)
def everything_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    monkeypatch.setattr(mcp_tools, "CONNECT_TIMEOUT_S", 30.0)
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)


async def test_every_request_carries_the_credential_and_no_log_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)
    async with connected(tmp_path) as (tools, locked):
        assert [tool.name for tool in tools] == ["weather_forecast"]
        assert await tools[0].call({"place": "Riverside"}) == {
            "result": "Sunny in Riverside for 1 days."
        }
    assert set(locked.keys) == {SECRET.encode()}
    assert caplog.records
    for record in caplog.records:
        assert SECRET not in f"{record.getMessage()} {record.__dict__}"


async def test_a_wrong_credential_costs_the_tools_and_is_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(VARIABLE, f"{SECRET}-of-yesterday")
    async with connected(tmp_path) as (tools, _):
        assert tools == []
    assert any(record.message == "MCP server left out" for record in caplog.records)
    assert all(SECRET not in f"{record.__dict__}" for record in caplog.records)


async def test_without_its_credential_a_server_is_not_even_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    async with connected(tmp_path) as (tools, locked):
        assert tools == []
    assert locked.keys == []
    (record,) = [one for one in caplog.records if one.message == "MCP server left out"]
    assert f"{VARIABLE} is not set" in record.__dict__["error"]
