"""The messages of a request as a sequence of events, and the facts that came with them."""

import datetime
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from language_server.protocol import Message

MAX_EVENTS = 100
"""Events that are replayed, newest first; a call has two or three in each turn."""

_NOW = re.compile(
    r"^Current date and time:[^\n(]{0,80}\((\d{4}-\d{2}-\d{2}T\d{2}:\d{2})", re.MULTILINE
)


@dataclass(frozen=True)
class CallerSaid:
    """Words of the caller."""

    text: str


@dataclass(frozen=True)
class DeskSaid:
    """Words that the caller heard from us."""

    text: str


@dataclass(frozen=True)
class ToolResult:
    """What one tool answered."""

    tool: str
    """Its name; empty when the call is not among the messages."""
    arguments: dict[str, Any]
    result: Any
    """Decoded JSON; None when it was not JSON."""


@dataclass(frozen=True)
class ToolResults:
    """The answers to the calls of one of our messages."""

    results: tuple[ToolResult, ...]


Event = CallerSaid | DeskSaid | ToolResults


@dataclass(frozen=True)
class Conversation:
    """A request's messages, read."""

    events: tuple[Event, ...]
    system_prompt: str
    """All system messages, joined by newlines."""
    instruction: str
    """A system message after everything else: what to say now. Usually empty."""
    now: datetime.datetime | None
    """The practice's local time, where a system message tells it."""


def read_conversation(messages: Sequence[Message]) -> Conversation:
    """Sort messages into events. Any order of messages is accepted."""
    events: list[Event] = []
    calls: dict[str, tuple[str, dict[str, Any]]] = {}
    system: list[str] = []
    for message in messages:
        if message.role in ("system", "developer"):
            system.append(message.text)
        elif message.role == "user":
            events.append(CallerSaid(message.text))
        elif message.role == "assistant":
            if message.text.strip():
                events.append(DeskSaid(message.text))
            for call in message.tool_calls or ():
                calls[call.id] = (call.function.name, _object(call.function.arguments))
        else:
            name, arguments = calls.get(message.tool_call_id or "", ("", {}))
            result = ToolResult(name, arguments, _decode(message.text))
            before = events.pop() if events and isinstance(events[-1], ToolResults) else None
            earlier = before.results if isinstance(before, ToolResults) else ()
            events.append(ToolResults((*earlier, result)))
    last = messages[-1] if messages else None
    trailing = last is not None and last.role in ("system", "developer") and bool(events)
    prompt = "\n".join(system)
    return Conversation(
        events=tuple(events[-MAX_EVENTS:]),
        system_prompt=prompt,
        instruction=last.text if last is not None and trailing else "",
        now=_now(prompt),
    )


def _now(prompt: str) -> datetime.datetime | None:
    for stamp in reversed(_NOW.findall(prompt)):
        try:
            return datetime.datetime.fromisoformat(stamp)
        except ValueError:
            continue
    return None


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object(text: str) -> dict[str, Any]:
    value = _decode(text)
    return value if isinstance(value, dict) else {}
