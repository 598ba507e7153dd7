"""What a tool is: a name, validated arguments and a coroutine that returns a small dictionary.

Whatever a model sends, it gets JSON back: a result, or `{"error": ...}` with a sentence that it
can act on. Exceptions, stack traces and SQL never reach a model or a caller.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from livekit.agents import RunContext, llm
from livekit.agents.llm.tool_context import RawFunctionDescription
from livekit.agents.voice import SpeechHandle
from pydantic import BaseModel, ConfigDict, ValidationError

from voice_agent.appointments import AppointmentBook, BookUnavailable
from voice_agent.database import DatabaseError
from voice_agent.handoffs import HandoffLog
from voice_agent.opening_hours import OpeningHours

logger = logging.getLogger(__name__)

TOOL_TIMEOUT_S = 6.0
"""Longest run of a tool; beyond it the caller has heard silence for too long."""

MAX_RESULT_BYTES = 4096
"""Largest result handed to a model; each byte is paid for again in every later turn."""

Result = dict[str, Any]
"""A JSON object."""


class ToolRefusal(Exception):
    """The tool will not do what was asked; told to the model as `{"error": ...}`.

    Args:
        message: One sentence that says what to do instead.
        details: Further JSON fields, for example `alternatives`.
    """

    def __init__(self, message: str, **details: Any) -> None:
        super().__init__(message)
        self.result: Result = {"error": message, **details}


class CallLine(Protocol):
    """The call itself, as far as a tool may touch it."""

    @property
    def room_name(self) -> str:
        """Name of the LiveKit room."""
        ...

    async def mark_handoff(self) -> None:
        """Show in the room that a person is wanted."""
        ...

    def end_after(self, speech: SpeechHandle) -> None:
        """Hang up once this speech, and a farewell where it held none, is heard."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools of one call work with."""

    line: CallLine
    appointments: AppointmentBook
    handoffs: HandoffLog
    hours: OpeningHours
    clock: Callable[[], datetime]
    """Local time of the practice, without a zone."""


class Arguments(BaseModel):
    """Base of every tool's arguments. Fields that a model makes up are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


@dataclass(frozen=True, slots=True)
class Tool:
    """One thing that the agent can do."""

    name: str
    description: str
    """Told to the model: what it does and when to use it."""
    arguments: type[Arguments]
    run: Callable[[Any, ToolContext, RunContext], Awaitable[Result | None]]
    """Gets the validated arguments; None means that nothing is to be said about the result."""
    needs_opening_hours: bool = False

    @property
    def schema(self) -> RawFunctionDescription:
        """The tool in OpenAI's notation; the same bytes in every call."""
        parameters = self.arguments.model_json_schema()
        return {
            "name": self.name,
            "description": self.description,
            "parameters": _without_titles(parameters),
        }

    def bind(self, context: ToolContext) -> llm.RawFunctionTool:
        """Make the tool of one call."""

        async def call(raw_arguments: dict[str, object], run_context: RunContext) -> str | None:
            return await self._call(raw_arguments, context, run_context)

        return llm.function_tool(call, raw_schema=self.schema)

    async def _call(
        self, raw_arguments: Mapping[str, object], context: ToolContext, run_context: RunContext
    ) -> str | None:
        try:
            arguments = self.arguments.model_validate(raw_arguments)
            async with asyncio.timeout(TOOL_TIMEOUT_S):
                result = await self.run(arguments, context, run_context)
        except ValidationError as error:
            result = {"error": _explain(error)}
        except ToolRefusal as refusal:
            result = refusal.result
        except (BookUnavailable, DatabaseError, TimeoutError) as error:
            logger.error("tool failed", extra={"tool": self.name, "reason": str(error)})
            result = {"error": "The records cannot be reached at the moment. Offer a call back."}
        logger.info("tool called", extra={"tool": self.name, "ok": "error" not in (result or {})})
        if result is None:
            return None
        encoded = json.dumps(result, ensure_ascii=False)
        if len(encoded.encode()) > MAX_RESULT_BYTES:
            logger.error("tool result too large", extra={"tool": self.name})
            return json.dumps({"error": "There is too much to tell; ask for less at once."})
        return encoded


def _explain(error: ValidationError) -> str:
    """Name the wrong arguments, without echoing what was sent."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False)[:3]:
        field = ".".join(str(part) for part in fault["loc"]) or "arguments"
        faults.append(f"{field}: {fault['msg'].removeprefix('Value error, ')}")
    return "; ".join(faults)


def _without_titles(schema: Any) -> Any:
    """Drop pydantic's titles, which cost tokens and tell a model nothing."""
    if isinstance(schema, dict):
        return {
            key: _without_titles(value)
            for key, value in schema.items()
            if not (key == "title" and isinstance(value, str))
        }
    if isinstance(schema, list):
        return [_without_titles(item) for item in schema]
    return schema
