"""Runs tools: whatever a model sends and whatever a tool does, the model gets bounded JSON back.

A result, or `{"error": ...}` with a sentence that the model can act on. Exceptions, stack traces
and SQL never reach a model or a caller; arguments and results never reach a log.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from livekit.agents import RunContext, llm
from livekit.agents.llm.tool_context import RawFunctionDescription
from pydantic import BaseModel, ValidationError

from voice_agent.appointments import BookUnavailable
from voice_agent.database import DatabaseError
from voice_agent.scopes import EARNED, Scope
from voice_agent.tools.definition import Result, ToolContext, ToolRefusal
from voice_agent.tools.filler import filler_while_waiting
from voice_agent.tools.run_record import idempotency_key

logger = logging.getLogger(__name__)

MAX_RESULT_BYTES = 4096
"""Largest result handed to a model; each byte is paid for again in every later turn."""

UNREACHABLE = "The records cannot be reached at the moment. Offer a call back."
UNCERTAIN = "It is not known whether that was done. Look it up before you try again."
TOO_MUCH = "There is too much to tell; ask for less at once."
TOO_MANY = "Too many tool calls in one turn. Answer with what you know, and offer a colleague."
INTERRUPTED = "The caller spoke again and the look-up was dropped. Listen first."
NOT_ALLOWED = "This assistant is not allowed to do that. Offer a colleague."
NOT_VERIFIED = (
    "Not allowed before the caller's identity is confirmed. Ask for the customer number and the "
    "date of birth, then use verify_identity. What the caller says about themselves does not count."
)


class RunnableTool(Protocol):
    """What can be run: the tools of `registry.py`, and those of an MCP server."""

    @property
    def name(self) -> str:
        """Name that the model calls."""
        ...

    @property
    def needs(self) -> frozenset[Scope]:
        """Scopes without all of which it is refused."""
        ...

    @property
    def writes(self) -> bool:
        """Whether it changes anything."""
        ...

    @property
    def timeout_s(self) -> float:
        """Longest run, seconds."""
        ...

    @property
    def schema(self) -> RawFunctionDescription:
        """The tool in OpenAI's notation."""
        ...

    @property
    def run(self) -> Callable[[Any, ToolContext, RunContext], Any]:
        """Coroutine function of the tool."""
        ...

    def check(self, raw_arguments: Mapping[str, object]) -> BaseModel:
        """Validate what a model sent."""
        ...


def bind(tool: RunnableTool, context: ToolContext) -> llm.RawFunctionTool:
    """Make the tool of one call."""

    async def call(raw_arguments: dict[str, object], run_context: RunContext) -> str | None:
        return await _call(tool, raw_arguments, context, run_context)

    return llm.function_tool(call, raw_schema=tool.schema)


async def _call(
    tool: RunnableTool,
    raw_arguments: Mapping[str, object],
    context: ToolContext,
    run_context: RunContext,
) -> str | None:
    if not context.record.admit(run_context.speech_handle.id):
        return _refused(tool, "calls", TOO_MANY)
    if missing := context.grants.lacking(tool.needs):
        return _refused(tool, min(missing), NOT_VERIFIED if missing <= EARNED else NOT_ALLOWED)
    try:
        arguments = tool.check(raw_arguments)
    except ValidationError as error:
        return _refused(tool, "arguments", _explain(error))
    if not tool.writes:
        return await _read(tool, arguments, context, run_context)
    key = idempotency_key(context.line.room_name, tool.name, arguments.model_dump(mode="json"))
    earlier = context.record.repeated(key)
    if earlier is not None:
        logger.info("tool call repeated, not run again", extra={"tool": tool.name})
        return await asyncio.shield(earlier)
    return await _write(tool, arguments, context, run_context, key)


async def _read(
    tool: RunnableTool, arguments: BaseModel, context: ToolContext, run_context: RunContext
) -> str | None:
    """A look-up; dropped when the caller interrupts, since nothing is lost by that."""
    running = asyncio.create_task(_run(tool, arguments, context, run_context))
    try:
        await run_context.speech_handle.wait_if_not_interrupted([running])
        if not running.done():
            return _refused(tool, "interrupted", INTERRUPTED)
        context.record.looked_up()
        return _encode(tool, running.result())
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait([running])


async def _write(
    tool: RunnableTool,
    arguments: BaseModel,
    context: ToolContext,
    run_context: RunContext,
    key: str,
) -> str | None:
    outcome = context.record.begin_write(key)
    try:
        result = await _run(tool, arguments, context, run_context)
    except BaseException:
        context.record.forget_write(outcome)
        outcome.cancel()
        raise
    encoded = _encode(tool, result)
    outcome.set_result(encoded)
    error = (result or {}).get("error")
    if error == UNCERTAIN:
        context.record.doubt_write(outcome)
    elif error is not None:
        context.record.forget_write(outcome)
    return encoded


async def _run(
    tool: RunnableTool, arguments: BaseModel, context: ToolContext, run_context: RunContext
) -> Result | None:
    """Run the tool; every failure of its own becomes an error that the model can act on."""
    try:
        async with (
            asyncio.timeout(tool.timeout_s),
            filler_while_waiting(context.filler, run_context, context.record.filled_turns),
        ):
            result: Result | None = await tool.run(arguments, context, run_context)
            return result
    except ToolRefusal as refusal:
        return refusal.result
    except TimeoutError:
        logger.error("tool timed out", extra={"tool": tool.name, "timeout_s": tool.timeout_s})
        return {"error": UNCERTAIN if tool.writes else UNREACHABLE}
    except (BookUnavailable, DatabaseError) as error:
        logger.error("tool failed", extra={"tool": tool.name, "reason": str(error)})
        return {"error": UNREACHABLE}
    except Exception as error:
        # its message may hold what the caller said
        logger.error("tool raised", extra={"tool": tool.name, "error": type(error).__name__})
        logger.debug("tool raised", exc_info=error)
        return {"error": UNCERTAIN if tool.writes else UNREACHABLE}


def _encode(tool: RunnableTool, result: Result | None) -> str | None:
    logger.info("tool called", extra={"tool": tool.name, "ok": "error" not in (result or {})})
    if result is None:
        return None
    try:
        encoded = json.dumps(result, ensure_ascii=False)
        size = len(encoded.encode())
    except (TypeError, ValueError, RecursionError) as error:
        logger.error("tool result unreadable", extra={"tool": tool.name, "reason": str(error)})
        return json.dumps({"error": UNREACHABLE})
    if size > MAX_RESULT_BYTES:
        logger.error("tool result too large", extra={"tool": tool.name, "bytes": size})
        return json.dumps({"error": TOO_MUCH})
    return encoded


def _refused(tool: RunnableTool, why: str, message: str) -> str:
    logger.info("tool refused", extra={"tool": tool.name, "why": why})
    return json.dumps({"error": message}, ensure_ascii=False)


def _explain(error: ValidationError) -> str:
    """Name the wrong arguments, without echoing what was sent."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False)[:3]:
        field = ".".join(str(part) for part in fault["loc"]) or "arguments"
        faults.append(f"{field}: {fault['msg'].removeprefix('Value error, ')}")
    return "; ".join(faults)
