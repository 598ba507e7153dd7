"""Tools of MCP servers, run like our own: allowed by name, by scope, bounded in time and size.

A server that cannot be reached costs its tools and not the call.
"""

import asyncio
import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from livekit.agents import RunContext
from livekit.agents.llm import ToolError
from livekit.agents.llm.tool_context import RawFunctionDescription, get_raw_function_info
from pydantic import BaseModel, RootModel, model_validator

from voice_agent.mcp_spec import McpServerSpec, McpToolSpec
from voice_agent.scopes import Scope
from voice_agent.tools.definition import Result, ToolContext, ToolRefusal

if TYPE_CHECKING:
    from livekit.agents.llm import mcp

logger = logging.getLogger(__name__)

CONNECT_TIMEOUT_S = 5.0
"""Longest wait for a server when a call begins; all servers are asked at once.

The greeting waits for it, because a model's prompt begins with its tools. A server that runs
already answers in milliseconds; one that is started by a command costs its start-up.
"""

MAX_SCHEMA_BYTES = 4096
"""Largest argument schema of one tool; it is part of every prompt."""

MAX_ARGUMENT_BYTES = 4096
"""Largest arguments that are sent to a server."""

MAX_ERROR_CHARACTERS = 300
"""How much of a server's own error the model is told."""


class McpArguments(RootModel[dict[str, Any]]):
    """Arguments as the model sent them; the server checks them against its schema."""

    @model_validator(mode="after")
    def _bounded(self) -> "McpArguments":
        if len(json.dumps(self.root, default=str).encode(errors="replace")) > MAX_ARGUMENT_BYTES:
            raise ValueError(f"the arguments have more than {MAX_ARGUMENT_BYTES} bytes")
        return self


@dataclass(frozen=True, slots=True)
class McpTool:
    """One allowed tool of a connected server."""

    name: str
    spec: McpToolSpec
    parameters: Mapping[str, Any]
    """JSON schema of the arguments, as the server tells it."""
    call: Any
    """Coroutine function of the connection: raw arguments to a `Result`."""

    @property
    def needs(self) -> frozenset[Scope]:
        """See `RunnableTool`."""
        return frozenset({Scope.MCP, *self.spec.needs})

    @property
    def writes(self) -> bool:
        """See `RunnableTool`."""
        return self.spec.writes

    @property
    def timeout_s(self) -> float:
        """See `RunnableTool`."""
        return self.spec.timeout_s

    @property
    def schema(self) -> RawFunctionDescription:
        """See `RunnableTool`."""
        return {
            "name": self.name,
            "description": self.spec.description,
            "parameters": dict(self.parameters),
        }

    def check(self, raw_arguments: Mapping[str, object]) -> BaseModel:
        """See `RunnableTool`."""
        return McpArguments.model_validate(raw_arguments)

    async def run(self, arguments: McpArguments, _: ToolContext, __: RunContext) -> Result:
        """Ask the server."""
        try:
            result: Result = await self.call(arguments.root)
        except ToolError as error:
            raise ToolRefusal(error.message[:MAX_ERROR_CHARACTERS]) from None
        return result


class McpConnections:
    """The MCP servers of one call."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()

    async def connect(self, servers: Mapping[str, McpServerSpec]) -> Sequence[McpTool]:
        """Connect to servers side by side; the tools of those that answer, in the file's order."""
        connected = await asyncio.gather(
            *(self._connect(name, spec) for name, spec in servers.items())
        )
        return [tool for tools in connected for tool in tools]

    async def aclose(self) -> None:
        """End every connection, and the servers that were started for them."""
        await self._open.aclose()

    async def _connect(self, name: str, spec: McpServerSpec) -> Sequence[McpTool]:
        try:
            server = _server(spec)
            self._open.push_async_callback(_close, name, server)
            async with asyncio.timeout(CONNECT_TIMEOUT_S):
                await server.initialize()
                offered = {
                    get_raw_function_info(tool).name: tool for tool in await server.list_tools()
                }
        except Exception as error:
            # of any kind: each transport raises its own, and groups of them
            logger.error("MCP server left out", extra={"server": name, "error": _reason(error)})
            return []
        tools = []
        for tool_name, tool_spec in spec.tools.items():
            tool = offered.get(tool_name)
            parameters = get_raw_function_info(tool).raw_schema["parameters"] if tool else None
            if parameters is None or len(json.dumps(parameters)) > MAX_SCHEMA_BYTES:
                why = "not offered" if parameters is None else "schema too large"
                logger.error("MCP tool left out", extra={"tool": tool_name, "error": why})
                continue
            tools.append(McpTool(f"{name}_{tool_name}", tool_spec, parameters, tool))
        return tools


def _server(spec: McpServerSpec) -> "mcp.MCPServer":
    try:
        from livekit.agents.llm import mcp
    except ImportError:
        raise RuntimeError("MCP needs the package mcp: pip install 'parley[mcp]'") from None
    longest_s = max(tool.timeout_s for tool in spec.tools.values())
    if spec.url is not None:
        # the transport follows no redirect to another origin, so the header stays with this one
        return mcp.MCPServerHTTP(
            spec.url,
            transport_type="streamable_http",
            headers=spec.credential.headers() if spec.credential is not None else None,
            timeout=CONNECT_TIMEOUT_S,
            client_session_timeout_seconds=longest_s,
            tool_result_resolver=_result,
        )
    program, *arguments = spec.command
    return mcp.MCPServerStdio(
        program,
        arguments,
        client_session_timeout_seconds=longest_s,
        tool_result_resolver=_result,
    )


def _result(context: "mcp.MCPToolResultContext") -> Result:
    """What the server answered: its structure where it has one, else its text."""
    structured = context.result.structured_content
    if isinstance(structured, dict):
        return structured
    parts = [part.text for part in context.result.content if hasattr(part, "text")]
    return {"text": "\n".join(parts)}


async def _close(name: str, server: "mcp.MCPServer") -> None:
    try:
        await server.aclose()
    except Exception as error:
        # the server may be gone already, and nothing after this must be skipped
        logger.warning("MCP server not closed", extra={"server": name, "error": _reason(error)})


def _reason(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"
