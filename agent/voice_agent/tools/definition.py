"""What a tool is: a name, the scopes it needs, validated arguments and a coroutine.

A tool returns a small dictionary or raises `ToolRefusal`; `execution.py` runs it and turns whatever
happens into JSON.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any, Protocol

from livekit.agents import AgentSession, RunContext
from livekit.agents.llm.tool_context import RawFunctionDescription
from livekit.agents.voice import SpeechHandle
from pydantic import BaseModel, ConfigDict

from voice_agent.appointments import AppointmentBook
from voice_agent.handoffs import HandoffLog
from voice_agent.identity import IdentityCheck
from voice_agent.ledger import Ledger
from voice_agent.opening_hours import OpeningHours
from voice_agent.scopes import Grants, Scope
from voice_agent.telephony.card_capture import StoredCard
from voice_agent.tools.run_record import RunRecord

TOOL_TIMEOUT_S = 4.0
"""Longest run of a tool that names no other; beyond it the caller has heard silence for too long.

Below the 5 s after which LiveKit abandons a turn that was interrupted, tools and all.
Source: livekit-agents 1.8.9, voice/speech_handle.py, INTERRUPTION_TIMEOUT.
"""

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


class PhoneLine(Protocol):
    """The telephone of a call, as far as a tool may touch it; see `telephony.PhoneCall`."""

    @property
    def takes_cards(self) -> bool:
        """Whether there is somewhere for a card to go."""
        ...

    async def press(self, row: str) -> None:
        """Press checked keys for the agent."""
        ...

    async def refuse_calls(self) -> None:
        """Note that who is on the line must not be called again."""
        ...

    async def transfer(self, session: AgentSession, name: str, summary: str) -> None:
        """Put the caller through to a destination of the persona file."""
        ...

    async def take_card(self, session: AgentSession, today: date) -> StoredCard:
        """Take a card by keys alone."""
        ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What the tools of one agent of a call work with."""

    line: CallLine
    grants: Grants
    """The scopes of the agent whose tools these are."""
    appointments: AppointmentBook
    handoffs: HandoffLog
    ledger: Ledger
    identity: IdentityCheck
    hours: OpeningHours
    clock: Callable[[], datetime]
    """Local time of the practice, without a zone."""
    filler: str | None = None
    """Said once in a turn whose tools take long; None: nothing."""
    phone: PhoneLine | None = None
    """None where the caller is not on a telephone."""
    record: RunRecord = field(default_factory=RunRecord)
    """What the tools of this call have done so far; shared by its agents."""


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
    needs: frozenset[Scope]
    """Scopes without all of which the tool is refused."""
    writes: bool = False
    """Whether it changes anything: it then runs to its end when the caller interrupts, and an equal
    call that follows it gets its result instead of a second run."""
    timeout_s: float = TOOL_TIMEOUT_S
    """Longest run, seconds."""
    needs_opening_hours: bool = False
    earns: Scope | None = None
    """The scope that its success earns."""

    @property
    def schema(self) -> RawFunctionDescription:
        """The tool in OpenAI's notation; the same bytes in every call."""
        parameters = self.arguments.model_json_schema()
        return {
            "name": self.name,
            "description": self.description,
            "parameters": _without_titles(parameters),
        }

    def check(self, raw_arguments: Mapping[str, object]) -> Arguments:
        """Validate what a model sent.

        Raises:
            pydantic.ValidationError: names the wrong arguments.
        """
        return self.arguments.model_validate(raw_arguments)


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
