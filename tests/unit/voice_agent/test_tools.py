"""The front desk's tools, called as LiveKit calls them."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import RunContext
from livekit.agents.voice import SpeechHandle

from voice_agent.appointments import Appointment, SqliteAppointmentBook
from voice_agent.database import Database
from voice_agent.opening_hours import OpeningHours
from voice_agent.personas import load_persona
from voice_agent.settings import AgentSettings
from voice_agent.tool_context import tool_context
from voice_agent.tools.definition import ToolContext
from voice_agent.tools.execution import MAX_RESULT_BYTES, bind
from voice_agent.tools.registry import TOOLS, bind_tools
from voice_agent.tools.run_record import RunRecord

NOW = datetime(2026, 11, 21, 10, 15)  # a Saturday

TUESDAY = "2026-11-24"


class FakeLine:
    room_name = "room-1"

    def __init__(self) -> None:
        self.handoff = False
        self.ended_after: SpeechHandle | None = None

    async def mark_handoff(self) -> None:
        self.handoff = True

    def end_after(self, speech: SpeechHandle) -> None:
        self.ended_after = speech


class FakeRun:
    """The part of a `RunContext` that a tool uses."""

    def __init__(self, *, interrupted: bool = False) -> None:
        self.speech_handle = SpeechHandle.create()
        self._interrupted = interrupted

    def disallow_interruptions(self) -> None:
        if self._interrupted:
            raise RuntimeError("already interrupted")

    @asynccontextmanager
    async def with_filler(
        self, source: Callable[[int], object], *, delay: float
    ) -> AsyncIterator[None]:
        yield


@pytest.fixture
def line() -> FakeLine:
    return FakeLine()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "appointments.db"


@pytest.fixture
def database(path: Path) -> Database:
    return Database(path)


@pytest.fixture
def context(line: FakeLine, path: Path) -> ToolContext:
    return tool_context(line, AgentSettings(database=path), load_persona("front_desk"), lambda: NOW)


async def call(context: ToolContext, tool_name: str, **arguments: object) -> Any:
    """Call a tool the way LiveKit does, with a model's arguments; returns the JSON."""
    return await call_in(FakeRun(), context, tool_name, **arguments)


async def call_in(run: FakeRun, context: ToolContext, tool_name: str, **arguments: object) -> Any:
    tool: Any = bind(TOOLS[tool_name], context)
    result = await tool(arguments, run)
    return None if result is None else json.loads(result)


async def test_opening_hours_of_the_week(context: ToolContext) -> None:
    assert await call(context, "opening_hours") == {
        "hours": [
            *(
                {"day": day, "open": "08:00", "close": "18:00"}
                for day in ("Monday", "Tuesday", "Wednesday", "Thursday")
            ),
            {"day": "Friday", "open": "08:00", "close": "14:00"},
        ],
        "closed": ["Saturday", "Sunday"],
    }


async def test_opening_hours_of_a_day(context: ToolContext) -> None:
    assert await call(context, "opening_hours", day="2026-11-27") == {
        "hours": [{"day": "Friday", "open": "08:00", "close": "14:00"}],
        "closed": [],
    }
    assert await call(context, "opening_hours", day="null") == await call(context, "opening_hours")


async def test_free_slots_leave_out_what_is_booked(context: ToolContext) -> None:
    await call(context, "book_appointment", name="Peter Miller", day=TUESDAY, time="08:30")
    found = await call(context, "find_free_slots", day=TUESDAY, part_of_day="morning")
    assert found["day"] == TUESDAY
    assert found["slots"] == ["08:00", "09:00", "09:30", "10:00", "10:30", "11:00", "11:30"]
    afternoon = await call(context, "find_free_slots", day=TUESDAY, part_of_day="afternoon")
    assert afternoon["slots"][0] == "12:00"
    assert afternoon["slots"][-1] == "17:30"


async def test_todays_past_slots_are_not_offered(context: ToolContext) -> None:
    at_noon = replace(context, clock=lambda: datetime(2026, 11, 24, 16, 45))
    assert (await call(at_noon, "find_free_slots", day=TUESDAY))["slots"] == ["17:00", "17:30"]
    refused = await call(at_noon, "book_appointment", name="Al Ko", day=TUESDAY, time="16:30")
    assert refused == {"error": "That time has already passed.", "alternatives": ["17:00", "17:30"]}


async def test_a_booking_lands_in_the_book(context: ToolContext) -> None:
    booked = await call(
        context, "book_appointment", name="  Peter   Miller ", day=TUESDAY, time="15:30"
    )
    assert booked["name"] == "Peter Miller"
    assert (booked["day"], booked["time"]) == (TUESDAY, "15:30")
    assert booked["spoken_time"] == "half past three in the afternoon"
    assert await call(context, "find_appointment", name="peter miller") == {
        "appointments": [booked]
    }


async def test_a_taken_slot_comes_with_the_nearest_free_ones(context: ToolContext) -> None:
    await call(context, "book_appointment", name="Peter Miller", day=TUESDAY, time="15:30")
    refused = await call(context, "book_appointment", name="Anna Bell", day=TUESDAY, time="15:30")
    assert refused == {
        "error": "That time is already taken.",
        "alternatives": ["14:30", "15:00", "16:00"],
    }


async def test_an_appointment_is_moved_and_cancelled(context: ToolContext) -> None:
    booked = await call(context, "book_appointment", name="Peter Miller", day=TUESDAY, time="15:30")
    identity = booked["appointment_id"]
    moved = await call(
        context, "move_appointment", appointment_id=identity, day="2026-11-25", time="9:00"
    )
    assert (moved["appointment_id"], moved["day"], moved["time"]) == (
        identity,
        "2026-11-25",
        "09:00",
    )
    cancelled = await call(context, "cancel_appointment", appointment_id=identity)
    assert cancelled["cancelled"] is True
    later = replace(context, record=RunRecord())
    again = await call(later, "cancel_appointment", appointment_id=identity)
    assert "no such appointment" in again["error"]
    assert await call(context, "find_appointment", name="Peter Miller") == {"appointments": []}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"day": "2026-11-20"}, "already passed"),
        ({"day": "2026-11-28"}, "closed on Saturday"),
        ({"day": "2028-01-03"}, "next twelve months"),
        ({"day": "2026-02-30"}, "no such date"),
        ({"day": "next tuesday"}, "date like 2026-11-24"),
        ({"day": 20261124}, "date like 2026-11-24"),
        ({"day": None}, "date like 2026-11-24"),
        ({"day": "9" * 10_000}, "date like 2026-11-24"),
        ({"time": "18:00"}, "closed at that time"),
        ({"time": "03:00"}, "closed at that time"),
        ({"time": "15:40"}, "every 30 minutes"),
        ({"time": "25:00"}, "24-hour time"),
        ({"time": "half past three"}, "24-hour time"),
        ({"time": "٣:٣٠"}, None),
        ({"time": 15.5}, "24-hour time"),
        ({"name": ""}, "person's name"),
        ({"name": "X"}, "person's name"),
        ({"name": "x" * 10_000}, "at most 80 characters"),
        ({"name": "'; DROP TABLE appointments;--"}, "person's name"),
        ({"name": "<script>alert(1)</script>"}, "person's name"),
        ({"name": "Peter\x00Miller"}, "person's name"),
        ({"name": "\u202eretep"}, "person's name"),
        ({"name": ["Peter"]}, "caller's name as text"),
        ({"reason": "r" * 10_000}, "at most 200 characters"),
        ({"reason": {"a": 1}}, "must be text"),
        ({"reason": "\x1b[2J"}, "plain text"),
    ],
)
async def test_a_wrong_booking_is_explained_and_books_nothing(
    context: ToolContext, arguments: dict[str, object], message: str | None
) -> None:
    good: dict[str, object] = {"name": "Peter Miller", "day": TUESDAY, "time": "15:30"}
    result = await call(context, "book_appointment", **{**good, **arguments})
    assert "error" in result
    if message is not None:
        assert message in result["error"]
    assert len(json.dumps(result)) < 500
    assert await context.appointments.taken(date(2026, 11, 24)) == frozenset()


@pytest.mark.parametrize("tool_name", sorted(set(TOOLS) - {"end_call"}))
@pytest.mark.parametrize(
    "nonsense",
    [
        {},
        {"day": [], "time": {}, "name": 7, "appointment_id": None, "reason": []},
        {"appointment_id": "x" * 10_000, "name": "y" * 10_000, "day": "z" * 10_000},
        {"made": "up", "part_of_day": "teatime", "day": TUESDAY},
    ],
)
async def test_nonsense_gets_json_back_from_every_tool(
    context: ToolContext, tool_name: str, nonsense: dict[str, object]
) -> None:
    result = await call(context, tool_name, **nonsense)
    assert isinstance(result, dict)
    assert len(json.dumps(result)) < MAX_RESULT_BYTES


@pytest.mark.parametrize(
    "name", ["José Peña", "Anne-Marie O'Neill", "李小龙", "अमित शर्मा", "Ng Vy"]
)
async def test_names_of_every_script_can_book(context: ToolContext, name: str) -> None:
    booked = await call(context, "book_appointment", name=name, day=TUESDAY, time="15:30")
    assert booked["name"] == name


async def test_closed_days_name_the_next_open_one(context: ToolContext) -> None:
    result = await call(context, "find_free_slots", day="2026-11-28")
    assert result["next_open_day"] == "2026-11-30"


async def test_a_broken_database_is_told_without_internals(
    context: ToolContext, tmp_path: Path
) -> None:
    (tmp_path / "appointments.db").mkdir()
    for tool_name, arguments in {
        "find_free_slots": {"day": TUESDAY},
        "book_appointment": {"name": "Peter Miller", "day": TUESDAY, "time": "15:30"},
        "transfer_to_human": {},
    }.items():
        result = await call(context, tool_name, **arguments)
        assert result == {
            "error": "The records cannot be reached at the moment. Offer a call back."
        }


async def test_a_tool_that_hangs_is_given_up(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StuckBook(SqliteAppointmentBook):
        async def find(self, name: str, *, since: datetime) -> tuple[Appointment, ...]:
            await asyncio.Event().wait()
            raise AssertionError

    impatient = replace(TOOLS["find_appointment"], timeout_s=0.01)
    monkeypatch.setitem(TOOLS, "find_appointment", impatient)
    stuck = replace(context, appointments=StuckBook(Database(Path("unused"))))
    result = await call(stuck, "find_appointment", name="Peter Miller")
    assert "cannot be reached" in result["error"]


async def test_cancellation_goes_through(context: ToolContext) -> None:
    started = asyncio.Event()

    class StuckBook(SqliteAppointmentBook):
        async def find(self, name: str, *, since: datetime) -> tuple[Appointment, ...]:
            started.set()
            await asyncio.Event().wait()
            raise AssertionError

    stuck = replace(context, appointments=StuckBook(Database(Path("unused"))))
    task = asyncio.create_task(call(stuck, "find_appointment", name="Peter Miller"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_wish_for_a_person_is_written_down_and_shown(
    context: ToolContext, line: FakeLine, database: Database
) -> None:
    result = await call(context, "transfer_to_human", reason="a complaint")
    assert result["status"] == "requested"
    assert "call the caller back" in result["message"]
    assert line.handoff
    rows = await database.read(
        lambda connection: connection.execute("SELECT room, reason FROM handoffs").fetchall()
    )
    assert rows == [("room-1", "a complaint")]
    await call(context, "transfer_to_human", reason="in other words")
    assert rows == await database.read(
        lambda connection: connection.execute("SELECT room, reason FROM handoffs").fetchall()
    )


async def test_hanging_up_waits_for_the_speech_and_says_nothing(
    context: ToolContext, line: FakeLine
) -> None:
    run = FakeRun()
    assert await call_in(run, context, "end_call") is None
    assert line.ended_after is run.speech_handle


async def test_a_caller_who_speaks_again_is_not_hung_up_on(
    context: ToolContext, line: FakeLine
) -> None:
    result = await call_in(FakeRun(interrupted=True), context, "end_call")
    assert "listen" in result["error"]
    assert line.ended_after is None


def test_tools_are_bound_in_the_order_that_is_asked_for(context: ToolContext) -> None:
    names = ("end_call", "opening_hours")
    assert [tool.id for tool in bind_tools(names, context)] == list(names)


def test_a_practice_that_is_never_open_has_no_next_day() -> None:
    assert OpeningHours().next_open_day(NOW.date()) is None


def test_fake_run_stands_for_livekits() -> None:
    assert {"disallow_interruptions", "speech_handle", "with_filler"} <= set(dir(RunContext))
