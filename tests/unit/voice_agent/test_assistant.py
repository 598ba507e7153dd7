import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import date, datetime, time
from pathlib import Path

import pytest
from livekit.agents import AgentSession, APIError

from tests.unit.voice_agent.scripted_llm import Reply, ScriptedLLM, ToolCall
from tests.unit.voice_agent.test_tools import FakeLine
from voice_agent.assistant import Assistant
from voice_agent.personas import load_persona
from voice_agent.prompt import call_prompt, system_prompt
from voice_agent.settings import AgentSettings
from voice_agent.tool_context import tool_context
from voice_agent.tools.registry import bind_tools

NOW = datetime(2026, 11, 21, 10, 15)
BOOK = ToolCall(
    "book_appointment", '{"name": "Peter Miller", "day": "2026-11-24", "time": "15:30"}'
)


class Conversation:
    def __init__(self, session: AgentSession, model: ScriptedLLM, path: Path) -> None:
        self._session = session
        self.model = model
        self.line = FakeLine()
        settings = AgentSettings(database=path / "appointments.db")
        self.tools = tool_context(self.line, settings, load_persona("front_desk"), lambda: NOW)

    async def begin(self) -> None:
        persona = load_persona("front_desk")
        assistant = Assistant(persona, bind_tools(persona.tools, self.tools), NOW)
        await self._session.start(assistant, capture_run=True)

    async def say(self, text: str) -> list[str]:
        """Say something; returns what the agent answers."""
        before = set(self.said())
        try:
            await self._session.run(user_input=text)
        except APIError:
            return []
        return [answer for answer in self.said() if answer not in before]

    def said(self) -> list[str]:
        return [
            item.text_content or ""
            for item in self._session.history.items
            if item.type == "message" and item.role == "assistant"
        ]


@asynccontextmanager
async def conversation(path: Path, *steps: Reply | Sequence[Reply]) -> AsyncIterator[Conversation]:
    model = ScriptedLLM(*steps)
    async with AgentSession(
        llm=model, vad=None, turn_handling={"turn_detection": None}, max_tool_steps=5
    ) as session:
        talk = Conversation(session, model, path)
        await talk.begin()
        yield talk


async def test_the_agent_speaks_first_and_says_that_it_is_a_machine(tmp_path: Path) -> None:
    async with conversation(tmp_path, "Good day!") as talk:
        await talk.say("Hello")
        persona = load_persona("front_desk")
        assert talk.said()[0] == persona.greeting
        assert persona.disclosure in talk.said()[0]


async def test_the_model_sees_the_immutable_prompt_first_and_the_call_second(
    tmp_path: Path,
) -> None:
    async with conversation(tmp_path, "Good day!", "Yes?") as talk:
        await talk.say("Hello")
        await talk.say("Anybody there?")
        for request in talk.model.requests:
            assert [message["role"] for message in request[:2]] == ["system", "system"]
            assert request[0]["content"] == system_prompt(load_persona("front_desk"))
            assert request[1]["content"] == call_prompt(NOW)
            assert "system" not in [message["role"] for message in request[2:]]


async def test_a_booking_by_the_model_really_books(tmp_path: Path) -> None:
    async with conversation(tmp_path, BOOK, "Booked for half past three.") as talk:
        assert await talk.say("Tuesday at three thirty, please") == ["Booked for half past three."]
        assert await talk.tools.appointments.taken(date(2026, 11, 24)) == {time(15, 30)}
        assert json.loads(talk.model.last_tool_result())["time"] == "15:30"


@pytest.mark.parametrize(
    "nonsense",
    [
        ToolCall("fly_to_the_moon", "{}"),
        ToolCall("book_appointment", "{not json at all"),
        ToolCall("book_appointment", "[1, 2, 3]"),
        ToolCall("book_appointment", '"text"'),
        ToolCall("book_appointment", ""),
        ToolCall("", "{}"),
        ToolCall("book_appointment", '{"name": "' + "x" * 10_000 + '"}'),
    ],
)
async def test_a_call_survives_a_model_that_talks_nonsense(
    tmp_path: Path, nonsense: ToolCall
) -> None:
    async with conversation(tmp_path, nonsense, "Sorry.", "I am still here.") as talk:
        assert await talk.say("Book me in") == ["Sorry."]
        assert "Traceback" not in talk.model.last_tool_result()
        assert await talk.say("Hello?") == ["I am still here."]
        assert await talk.tools.appointments.taken(date(2026, 11, 24)) == frozenset()


async def test_a_model_that_calls_tools_for_ever_is_stopped(tmp_path: Path) -> None:
    async with conversation(tmp_path, *[ToolCall("opening_hours", "{}")] * 50) as talk:
        await talk.say("Hours?")
        assert len(talk.model.requests) <= 10


async def test_a_failed_model_ends_the_turn_and_not_the_call(tmp_path: Path) -> None:
    async with conversation(tmp_path, ConnectionError("refused"), "Back again.") as talk:
        assert await talk.say("Hello") == []
        assert await talk.say("Hello?") == ["Back again."]


async def test_hanging_up_waits_for_the_goodbye(tmp_path: Path) -> None:
    async with conversation(tmp_path, ["Goodbye, Mr Miller.", ToolCall("end_call", "{}")]) as talk:
        assert await talk.say("Thank you, goodbye") == ["Goodbye, Mr Miller."]
        assert talk.line.ended_after is not None
        assert talk.line.ended_after.done()
        assert len(talk.model.requests) == 1
