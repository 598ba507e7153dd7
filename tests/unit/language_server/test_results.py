import datetime
from typing import Any

import pytest

from language_server.dialogue.conversation import ToolResult
from language_server.dialogue.results import parse_day, parse_time, tell
from language_server.dialogue.state import CallState, Desk, Question, Task
from language_server.dialogue.toolbox import Toolbox
from tests.unit.language_server.front_desk import CLOCK, TOOLS

DESK = Desk(Toolbox(TOOLS, frozenset(TOOLS)), CLOCK)


def told(tool: str, result: Any, state: CallState | None = None, **arguments: Any) -> str:
    return tell(ToolResult(tool, arguments, result), state or CallState(), DESK, False).text


@pytest.mark.parametrize("tool", [*TOOLS, "unknown", ""])
@pytest.mark.parametrize("result", [None, 3, "text", [], {"x": 1}, {"appointments": "none"}])
def test_nonsense_is_answered_gracefully(tool: str, result: Any) -> None:
    text = told(tool, result)
    assert text
    assert text != "x"


def test_hours_of_one_day() -> None:
    hours = [{"day": "Friday", "open": "08:00", "close": "14:00"}]
    assert told("opening_hours", {"hours": hours, "closed": []}) == (
        "We are open on Friday from eight a.m. to two p.m."
    )
    assert told("opening_hours", {"hours": [], "closed": ["Sunday"]}) == "We are closed on Sunday."


def test_hours_with_a_gap_are_not_run_together() -> None:
    hours = [{"day": day, "open": "08:00", "close": "12:00"} for day in ("Monday", "Wednesday")]
    text = told("opening_hours", {"hours": hours, "closed": []})
    assert "Monday to" not in text
    assert "Wednesday" in text


def test_no_free_slot() -> None:
    state = CallState(task=Task.BOOK, day=datetime.date(2026, 11, 24))
    text = told("find_free_slots", {"day": "2026-11-24", "slots": []}, state)
    assert "nothing free on Tuesday" in text
    assert state.question is Question.DAY


def test_an_error_is_said_and_its_alternatives_offered() -> None:
    error = {"error": "That time is already taken.", "alternatives": ["15:00", "x", 3, "16:00"]}
    text = told("book_appointment", error)
    assert "already taken" in text
    assert "three p.m. or four p.m." in text


def test_internals_are_not_said() -> None:
    text = told("book_appointment", {"error": "sqlite3.OperationalError: /var/db/x.db"})
    assert "sqlite" not in text


def test_a_found_appointment_names_its_reason() -> None:
    found = {"appointment_id": "1", "day": "2026-11-24", "time": "15:30", "reason": "cleaning"}
    text = told("find_appointment", {"appointments": [found]})
    assert text == (
        "Your appointment for cleaning is on Tuesday the 24th of November at three thirty p.m."
    )


def test_a_transfer_that_happens_and_one_that_does_not() -> None:
    assert "stay on the line" in told("transfer_to_human", {"status": "transferring"})
    assert "call you back" in told("transfer_to_human", {"status": "requested"})
    assert "sorry" in told("transfer_to_human", {"error": "The records cannot be reached."})


@pytest.mark.parametrize("value", [None, 3, "", "soon", "2026-02-30", "24:00", {}])
def test_what_is_no_date_or_time(value: object) -> None:
    assert parse_day(value) is None
    assert parse_time(value) is None
