"""The agent's text side on real vLLM: what the tiny Llama says, and the tools that it really calls.

The session is the product's own, run with LiveKit's `AgentSession.run`; the tools write into real
databases. The model knows its lines by heart, so the words themselves are checked.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, time
from pathlib import Path

import pytest
from livekit.agents.voice.run_result import RunResult

from speech_plugins import LLM
from tests.contract.text_call import TextCaller
from tests.server_process import Server
from tests.tiny_dialogue import API_KEY, MODEL
from tests.tiny_office import ANSWERS, BOOK, GREETING, HOURS, HUMAN, WHEN, write_persona
from tests.vllm_environment import MISSING, PYTHON
from voice_agent.appointments import SqliteAppointmentBook
from voice_agent.database import Database
from voice_agent.prompt import system_prompt

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    # Starting vLLM on a busy CPU takes minutes.
    pytest.mark.timeout(1200),
]

NOW = datetime(2026, 11, 21, 10, 15)  # a Saturday


@asynccontextmanager
async def calling(server: Server, folder: Path, room: str = "room-1") -> AsyncIterator[TextCaller]:
    """A call to the office that the tiny models play; its databases lie in the folder."""
    persona = write_persona(folder)
    model = LLM(
        url=f"{server.url}/v1",
        model=MODEL,
        api_key=API_KEY,
        timeout_s=60.0,
        instructions=system_prompt(persona),
        session_id=room,
        priorities=True,
    )
    async with TextCaller(model, persona, folder / "appointments.db", lambda: NOW) as caller:
        yield caller


@pytest.fixture
async def caller(server: Server, tmp_path: Path) -> AsyncIterator[TextCaller]:
    async with calling(server, tmp_path) as caller:
        yield caller


def history(caller: TextCaller) -> list[tuple[str, str]]:
    """Who said what, and which tools were called and answered, in order."""
    told: list[tuple[str, str]] = []
    for item in caller.session.history.items:
        if item.type == "message" and item.role in {"user", "assistant"}:
            told.append((item.role, item.text_content or ""))
        elif item.type in {"function_call", "function_call_output"}:
            told.append((item.type, item.name))
    return told


async def test_a_turn_is_answered_in_the_words_that_were_taught(caller: TextCaller) -> None:
    result: RunResult[None] = await caller.session.run(user_input=WHEN)
    result.expect.next_event().is_message(role="assistant")
    result.expect.no_more_events()
    assert caller.said() == [GREETING, ANSWERS[WHEN]]
    assert caller.tools_run == []


async def test_a_tool_that_the_model_calls_is_run_and_spoken_of(
    caller: TextCaller, tmp_path: Path
) -> None:
    result: RunResult[None] = await caller.session.run(user_input=BOOK)
    asked = {"name": "Peter Miller", "day": "2026-11-24", "time": "15:30"}
    result.expect.next_event().is_function_call(name="book_appointment", arguments=asked)
    answered = result.expect.next_event().is_function_call_output(is_error=False).event()
    assert json.loads(answered.item.output).items() >= asked.items()
    result.expect.next_event().is_message(role="assistant")
    result.expect.no_more_events()
    assert caller.said()[-1] == ANSWERS[BOOK]
    book = SqliteAppointmentBook(Database(tmp_path / "appointments.db"))
    (booked,) = await book.find("Peter Miller", since=NOW)
    assert (booked.day, booked.time) == (date(2026, 11, 24), time(15, 30))


async def test_a_tool_that_refuses_is_told_to_the_model_and_changes_nothing(
    caller: TextCaller, tmp_path: Path
) -> None:
    book = SqliteAppointmentBook(Database(tmp_path / "appointments.db"))
    await book.book(name="Anna Bell", day=date(2026, 11, 24), time=time(15, 30))
    result: RunResult[None] = await caller.session.run(user_input=BOOK)
    output = result.expect.contains_function_call_output().event().item.output
    assert "already taken" in json.loads(output)["error"]
    assert caller.tools_run == []
    assert await book.find("Peter Miller", since=NOW) == ()


async def test_a_person_is_asked_for_and_the_call_goes_on_with_its_history(
    caller: TextCaller, tmp_path: Path
) -> None:
    assert await caller.say(WHEN) == ANSWERS[WHEN]
    assert await caller.say(HUMAN) == ANSWERS[HUMAN]
    assert await caller.say(HOURS) == ANSWERS[HOURS]
    assert caller.tools_run == ["transfer_to_human", "opening_hours"]
    assert caller.line.handoff
    handoffs = await Database(tmp_path / "appointments.db").read(
        lambda connection: connection.execute("SELECT room, reason FROM handoffs").fetchall()
    )
    assert handoffs == [("room-1", "asked for a person")]
    assert history(caller) == [
        ("assistant", GREETING),
        ("user", WHEN),
        ("assistant", ANSWERS[WHEN]),
        ("user", HUMAN),
        ("function_call", "transfer_to_human"),
        ("function_call_output", "transfer_to_human"),
        ("assistant", ANSWERS[HUMAN]),
        ("user", HOURS),
        ("function_call", "opening_hours"),
        ("function_call_output", "opening_hours"),
        ("assistant", ANSWERS[HOURS]),
    ]


async def test_callers_at_once_keep_their_own_conversations(server: Server, tmp_path: Path) -> None:
    async def talk(number: int, *lines: str) -> list[str]:
        name = f"room-{number}"
        async with calling(server, tmp_path / name, name) as caller:
            return [await caller.say(line) for line in lines]

    talks = [(HOURS, WHEN), (WHEN, HUMAN), (BOOK, HOURS)]
    answers = await asyncio.gather(*(talk(number, *lines) for number, lines in enumerate(talks)))
    assert answers == [[ANSWERS[line] for line in lines] for lines in talks]
