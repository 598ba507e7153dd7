"""The tools with which one agent of a persona hands the caller over to another."""

import json
import logging
from collections.abc import Callable
from typing import Any

from livekit.agents import Agent, AgentSession, RunContext, llm
from livekit.agents.llm.tool_context import RawFunctionDescription

from voice_agent.personas import Colleague
from voice_agent.scopes import Scope
from voice_agent.tools.definition import ToolContext
from voice_agent.tools.execution import NOT_ALLOWED, TOO_MANY

logger = logging.getLogger(__name__)

TakeOver = Callable[[AgentSession], Agent]
"""Makes the next agent of a session, with the conversation so far."""

MAX_HANDOVERS = 6
"""Hand-overs in one call; past it a caller is being sent in circles."""

IN_CIRCLES = "The caller has been handed over too often. Answer yourself, or offer a colleague."


def handover_tool(
    name: str, colleague: Colleague, context: ToolContext, take_over: TakeOver
) -> llm.RawFunctionTool:
    """Make the tool that hands the caller over to one agent.

    The tool takes no arguments: the next agent reads the conversation itself, so that no words of a
    caller reach it by another way.
    """
    schema: RawFunctionDescription = {
        "name": f"transfer_to_{name}",
        "description": f"Hand the caller over to a colleague. {colleague.when}",
        "parameters": {"type": "object", "properties": {}},
    }

    async def call(raw_arguments: dict[str, object], run_context: RunContext) -> Any:
        why = None
        if not context.record.admit(run_context.speech_handle.id):
            why = TOO_MANY
        elif context.grants.lacking({Scope.CALL_CONTROL}):
            why = NOT_ALLOWED
        elif context.record.handovers >= MAX_HANDOVERS:
            why = IN_CIRCLES
        if why is not None:
            logger.info("hand-over refused", extra={"agent": name})
            return json.dumps({"error": why})
        context.record.handovers += 1
        logger.info("hand-over", extra={"agent": name})
        # what was said with the call is history only once it was heard
        await run_context.wait_for_playout()
        return take_over(run_context.session)

    return llm.function_tool(call, raw_schema=schema)
