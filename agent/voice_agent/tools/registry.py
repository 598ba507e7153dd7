"""Every tool that a persona may name."""

from collections.abc import Iterable

from livekit.agents import llm

from voice_agent.tools.accounts import ACCOUNT_TOOLS
from voice_agent.tools.appointments import APPOINTMENT_TOOLS
from voice_agent.tools.call_control import CALL_CONTROL_TOOLS
from voice_agent.tools.definition import Tool, ToolContext
from voice_agent.tools.execution import bind
from voice_agent.tools.telephone import TELEPHONE_TOOLS

TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (*APPOINTMENT_TOOLS, *ACCOUNT_TOOLS, *CALL_CONTROL_TOOLS, *TELEPHONE_TOOLS)
}
"""Name to tool. A new tool is added here and named in a persona file."""


def bind_tools(names: Iterable[str], context: ToolContext) -> list[llm.Tool]:
    """Make the tools of one call, in the order of `names` (the prompt's bytes depend on it)."""
    return [bind(TOOLS[name], context) for name in names]
