"""Tools that act on the call itself: fetch a person, hang up."""

from livekit.agents import RunContext

from voice_agent.scopes import Scope
from voice_agent.tools.arguments import Reason
from voice_agent.tools.definition import Arguments, Result, Tool, ToolContext, ToolRefusal


class _TransferToHuman(Arguments):
    reason: Reason = ""


class _EndCall(Arguments):
    pass


async def _transfer_to_human(
    arguments: _TransferToHuman, context: ToolContext, _: RunContext
) -> Result:
    await context.handoffs.add(room=context.line.room_name, reason=arguments.reason)
    await context.line.mark_handoff()
    return {
        "status": "requested",
        "message": (
            "Nobody can be put through right now. A colleague has been asked to call the caller "
            "back. Say exactly that, then say goodbye and end the call unless the caller needs "
            "something else."
        ),
    }


async def _end_call(_: _EndCall, context: ToolContext, run_context: RunContext) -> Result | None:
    try:
        run_context.disallow_interruptions()
    except RuntimeError:
        raise ToolRefusal("The caller has begun to speak again; stay and listen.") from None
    context.line.end_after(run_context.speech_handle)
    return None


CALL_CONTROL_TOOLS = (
    Tool(
        "transfer_to_human",
        "Ask a colleague to take over. Use when the caller wants a person or you cannot help.",
        _TransferToHuman,
        _transfer_to_human,
        needs=frozenset({Scope.CALL_CONTROL}),
        writes=True,
    ),
    Tool(
        "end_call",
        "Hang up. Use when the caller has said goodbye; say goodbye in the same turn.",
        _EndCall,
        _end_call,
        needs=frozenset({Scope.CALL_CONTROL}),
        writes=True,
    ),
)
"""In the order in which a model sees them."""
