"""The tool that puts a caller through to somebody else; the model picks a name, never a number."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from livekit.agents import RunContext
from pydantic import create_model

from voice_agent.scopes import Scope
from voice_agent.telephony.phone_spec import TransferSpec
from voice_agent.telephony.transfer import TransferFailed
from voice_agent.telephony.warm_transfer import ANSWER_S, OFFERS
from voice_agent.tools.arguments import Reason
from voice_agent.tools.definition import Arguments, Result, Tool, ToolContext, ToolRefusal
from voice_agent.tools.telephone import keep_the_floor, phone_of

TRANSFER_CALL: Final = "transfer_call"

SUMMARY_S: Final = 30.0
"""Longest time that a person's summary takes to say once."""

_TOLD: Final = "The caller is still on the line and has been told that nobody could be reached. "
_FAILED: Final = {
    "busy": "The line was busy. Offer to try again later, or a call back.",
    "no answer": "Nobody answered. Offer a call back, or help yourself.",
    "declined": "The colleague cannot take the call now. Offer a call back.",
}
_OTHERWISE: Final = "The transfer did not work. Offer a call back; do not try it again."


class _Transfer(Arguments):
    summary: Reason = ""
    """Who calls and what they need, in one or two sentences, for the person who takes the call."""


def transfer_tool(destinations: Mapping[str, TransferSpec]) -> Tool:
    """Make the tool of one agent.

    Args:
        destinations: Where this agent may send callers, by name; at least one.
    """
    names: Any = Literal[tuple(destinations)]
    arguments = create_model("TransferCall", __base__=_Transfer, destination=(names, ...))

    async def run(wish: _Transfer, context: ToolContext, run_context: RunContext) -> Result | None:
        phone = phone_of(context)
        keep_the_floor(run_context)
        await run_context.wait_for_playout()
        name: str = wish.destination  # type: ignore[attr-defined]
        try:
            await phone.transfer(run_context.session, name, wish.summary)
        except TransferFailed as failure:
            raise ToolRefusal(_TOLD + _FAILED.get(failure.reason, _OTHERWISE)) from None
        return None

    where = "; ".join(f"{name}: {spec.when}" for name, spec in destinations.items())
    longest_s = max(spec.ringing_s for spec in destinations.values())
    return Tool(
        TRANSFER_CALL,
        "Put the caller through to somebody else. The caller is told, and waits; say nothing of it "
        f"yourself. {where}",
        arguments,
        run,
        needs=frozenset({Scope.CALL_CONTROL}),
        writes=True,
        timeout_s=longest_s + OFFERS * (SUMMARY_S + ANSWER_S) + 20.0,
    )
