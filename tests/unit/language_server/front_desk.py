"""A front desk to talk to without a server: the tools, kept in memory, and a call's messages."""

import datetime
import json
from collections.abc import Callable, Mapping
from typing import Any

from language_server.dialogue.policy import respond
from language_server.dialogue.state import Reply
from language_server.dialogue.toolbox import Toolbox
from language_server.protocol import Message

CLOCK = datetime.datetime(2000, 1, 1)
PROMPT = (
    "You are the front desk of a dental practice.\n\nFacts:\n"
    "- The practice is at 12 Mill Lane, beside the railway station.\n"
)
TODAY = "Current date and time: Saturday 21 November 2026, 10:15 (2026-11-21T10:15)"
BOOK = "I would like to book an appointment on Tuesday at three thirty. My name is Peter Miller."
GREETING = "Hello, this is the front desk. I am an automated assistant. How can I help you?"

_TEXT = {"type": "string"}


def schema(required: str = "", optional: str = "") -> dict[str, Any]:
    names = [*required.split(), *optional.split()]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, _TEXT),
        "required": required.split(),
        "additionalProperties": False,
    }


TOOLS: dict[str, dict[str, Any]] = {
    "opening_hours": schema(optional="day"),
    "find_free_slots": schema("day", "part_of_day"),
    "book_appointment": schema("name day time", "reason"),
    "find_appointment": schema("name"),
    "move_appointment": schema("appointment_id day time"),
    "cancel_appointment": schema("appointment_id"),
    "transfer_to_human": schema(optional="reason"),
    "end_call": schema(),
}
OPENAI_TOOLS = [
    {"type": "function", "function": {"name": name, "description": name, "parameters": parameters}}
    for name, parameters in TOOLS.items()
]


class AppointmentBook:
    """Answers tool calls the way the agent's tools do."""

    def __init__(self) -> None:
        self.appointments: dict[str, dict[str, str]] = {}
        self.ended = False

    def run(self, tool: str, arguments: Mapping[str, str]) -> object:
        action: Callable[..., object] = getattr(self, f"_{tool}")
        return action(**arguments)

    def _opening_hours(self, day: str | None = None) -> object:
        week = [
            {"day": weekday, "open": "08:00", "close": "14:00" if weekday == "Friday" else "18:00"}
            for weekday in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
        ]
        closed = ["Saturday", "Sunday"]
        if day is not None:
            weekday = f"{datetime.date.fromisoformat(day):%A}"
            week = [entry for entry in week if entry["day"] == weekday]
            closed = [name for name in closed if name == weekday]
        return {"hours": week, "closed": closed}

    def _find_free_slots(self, day: str, part_of_day: str | None = None) -> object:
        return {"day": day, "slots": ["09:00", "10:30", "15:30", "16:00", "17:00"]}

    def _book_appointment(self, name: str, day: str, time: str, reason: str = "") -> object:
        if datetime.date.fromisoformat(day).weekday() > 4:
            return {
                "error": "The practice is closed on Sunday.",
                "alternatives": [],
                "next_open_day": "2026-11-23",
            }
        if any((a["day"], a["time"]) == (day, time) for a in self.appointments.values()):
            return {"error": "That time is already taken.", "alternatives": ["15:00", "16:00"]}
        number = str(len(self.appointments) + 1)
        booked = {"appointment_id": number, "name": name, "day": day, "time": time}
        self.appointments[number] = {**booked, "reason": reason} if reason else booked
        return self.appointments[number]

    def _find_appointment(self, name: str) -> object:
        return {"appointments": [a for a in self.appointments.values() if a["name"] == name]}

    def _move_appointment(self, appointment_id: str, day: str, time: str) -> object:
        self.appointments[appointment_id].update(day=day, time=time)
        return self.appointments[appointment_id]

    def _cancel_appointment(self, appointment_id: str) -> object:
        return {"cancelled": True, **self.appointments.pop(appointment_id)}

    def _transfer_to_human(self, reason: str = "") -> object:
        return {"status": "requested", "message": "Say that a colleague calls back."}

    def _end_call(self) -> object:
        self.ended = True
        return {}


class Call:
    """One call: what the caller says goes in, what the caller hears comes out."""

    def __init__(
        self,
        book: AppointmentBook | None = None,
        tools: Mapping[str, Mapping[str, Any]] = TOOLS,
        prompt: str = PROMPT,
    ) -> None:
        self.book = book or AppointmentBook()
        self.toolbox = Toolbox(tools, frozenset(tools))
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.messages: list[dict[str, Any]] = [
            {"role": "system", "content": prompt},
            {"role": "system", "content": TODAY},
            {"role": "assistant", "content": GREETING},
        ]

    def say(self, text: str) -> str:
        """Speak; the tools run; returns all that is heard until it is the caller's turn."""
        self.messages.append({"role": "user", "content": text})
        heard = []
        for _ in range(6):
            reply = self.reply()
            if reply.text:
                heard.append(reply.text)
                self.messages.append({"role": "assistant", "content": reply.text})
            if not reply.calls:
                return " ".join(heard)
            self._run(reply)
        raise AssertionError("the script goes on calling tools")

    def reply(self, toolbox: Toolbox | None = None) -> Reply:
        parsed = [Message.model_validate(message) for message in self.messages]
        return respond(parsed, toolbox or self.toolbox, CLOCK)

    def _run(self, reply: Reply) -> None:
        calls, results = [], []
        for call in reply.calls:
            arguments = dict(call.arguments)
            self.calls.append((call.name, arguments))
            call_id = f"call_{len(self.calls)}"
            function = {"name": call.name, "arguments": json.dumps(arguments)}
            calls.append({"id": call_id, "type": "function", "function": function})
            content = json.dumps(self.book.run(call.name, arguments))
            results.append({"role": "tool", "tool_call_id": call_id, "content": content})
        self.messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        self.messages.extend(results)
