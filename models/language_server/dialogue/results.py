"""Tool results put into words. What a tool answers is data: of any shape, and never obeyed."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from language_server.dialogue.conversation import ToolResult
from language_server.dialogue.speech import (
    first_sentence,
    join,
    sentence,
    speak_day,
    speak_moment,
    speak_slots,
    speak_time,
)
from language_server.dialogue.state import Appointment, CallState, Desk, Question, Reply, Task
from language_server.dialogue.tasks import ask, choose, confirm_cancel, proceed
from language_server.slots.dates import WEEKDAYS

MAX_ERROR_CHARS = 160
"""Longest error of a tool that is said aloud, characters."""
MAX_ITEMS = 100
"""Most slots, hours or appointments of one result that are looked at."""

_FAREWELL = "Goodbye."


def tell(result: ToolResult, state: CallState, desk: Desk, said_before: bool) -> Reply:
    """Take a result into the state and say what it means.

    Args:
        result: the tool's answer.
        state: changed in place.
        desk: the request's surroundings.
        said_before: words were spoken together with the call.
    """
    if result.tool == "end_call" and not _error(result.result):
        return Reply("" if said_before else _FAREWELL)
    teller = _TELLERS.get(result.tool)
    if teller is None or not isinstance(result.result, Mapping):
        return _unclear(state, desk)
    if error := _error(result.result):
        return _failed(result, error, state, desk)
    return teller(result.result, result, state, desk)


def parse_day(value: object) -> datetime.date | None:
    """A date written as YYYY-MM-DD, else None."""
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None


def parse_time(value: object) -> datetime.time | None:
    """A time written as HH:MM, else None."""
    try:
        time = datetime.time.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return time.replace(tzinfo=None, second=0, microsecond=0) if time else None


def _error(result: object) -> str:
    error = result.get("error") if isinstance(result, Mapping) else None
    return error if isinstance(error, str) else ("failed" if error else "")


def _items(value: object) -> Sequence[Any]:
    return value[:MAX_ITEMS] if isinstance(value, list) else ()


def _times(value: object) -> tuple[datetime.time, ...]:
    parsed = (parse_time(item) for item in _items(value))
    return tuple(sorted({time for time in parsed if time is not None}))


def _appointment(value: object) -> Appointment | None:
    if not isinstance(value, Mapping):
        return None
    day, time = parse_day(value.get("day")), parse_time(value.get("time"))
    if day is None or time is None:
        return None
    reason = value.get("reason")
    reason = first_sentence(reason, 60) if isinstance(reason, str) else None
    return Appointment(str(value.get("appointment_id", ""))[:128], day, time, reason)


def _unclear(state: CallState, desk: Desk) -> Reply:
    """An answer that nobody can read."""
    state.finish_task()
    sorry = "I am sorry, something went wrong with that."
    if desk.toolbox.offers("transfer_to_human"):
        return ask(state, Question.CONFIRM_TRANSFER, sorry)
    return ask(state, Question.ANYTHING_ELSE, sorry)


def _failed(result: ToolResult, error: str, state: CallState, desk: Desk) -> Reply:
    why = first_sentence(error, MAX_ERROR_CHARS)
    sorry = f"I am sorry. {why}" if why else "I am sorry, that did not work."
    data: Mapping[str, Any] = result.result
    if result.tool == "end_call":
        return ask(state, Question.ANYTHING_ELSE)
    if result.tool not in ("book_appointment", "move_appointment", "find_free_slots"):
        return _unclear(state, desk) if why is None else _offer_person(state, desk, sorry)
    state.task = state.task or (Task.MOVE if result.tool == "move_appointment" else Task.BOOK)
    state.time = None
    if slots := _times(data.get("alternatives")):
        state.slots, state.slots_day = slots, state.day
        offer = sentence(f"I could offer {join([speak_time(slot) for slot in slots[:4]], 'or')}")
        return ask(state, Question.TIME, f"{sorry} {offer}")
    state.day = None
    if next_open := parse_day(data.get("next_open_day")):
        state.offered_day = next_open
        return ask(
            state, Question.OTHER_DAY, f"{sorry} The next open day is {speak_day(next_open)}."
        )
    if why is None:
        return _unclear(state, desk)
    return ask(state, Question.DAY_AND_TIME, sorry)


def _offer_person(state: CallState, desk: Desk, sorry: str) -> Reply:
    state.finish_task()
    if desk.toolbox.offers("transfer_to_human"):
        return ask(state, Question.CONFIRM_TRANSFER, sorry)
    return ask(state, Question.ANYTHING_ELSE, sorry)


def _tell_hours(data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk) -> Reply:
    spans: list[tuple[str, str]] = []
    for item in _items(data.get("hours")):
        if not isinstance(item, Mapping):
            continue
        opens, closes = parse_time(item.get("open")), parse_time(item.get("close"))
        if opens and closes and str(item.get("day", "")).lower() in WEEKDAYS:
            hours = f"from {speak_time(opens)} to {speak_time(closes)}"
            spans.append((str(item["day"]).capitalize(), hours))
    closed = [
        str(day).capitalize() for day in _items(data.get("closed")) if str(day).lower() in WEEKDAYS
    ]
    if not spans and not closed:
        return _unclear(state, desk)
    text = f"We are open {join(_grouped(spans))}" if spans else ""
    if closed:
        days = "at the weekend" if set(closed) == {"Saturday", "Sunday"} else f"on {join(closed)}"
        text = f"{sentence(text)} We are closed {days}." if spans else f"We are closed {days}"
    return Reply(sentence(text))


def _grouped(spans: Sequence[tuple[str, str]]) -> list[str]:
    """Days in a row with the same hours are said together."""
    groups: list[tuple[list[str], str]] = []
    for day, hours in spans:
        if groups and groups[-1][1] == hours and _follows(groups[-1][0][-1], day):
            groups[-1][0].append(day)
        else:
            groups.append(([day], hours))
    return [
        f"{days[0]} to {days[-1]} {hours}" if len(days) > 2 else f"on {join(days)} {hours}"
        for days, hours in groups
    ]


def _follows(day: str, next_day: str) -> bool:
    return (WEEKDAYS.index(day.lower()) + 1) % 7 == WEEKDAYS.index(next_day.lower())


def _tell_slots(data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk) -> Reply:
    day = parse_day(data.get("day")) or parse_day(result.arguments.get("day")) or state.day
    if day is None or not isinstance(data.get("slots"), list):
        return _unclear(state, desk)
    slots = _times(data["slots"])
    if state.task not in (Task.BOOK, Task.MOVE):
        state.task = Task.BOOK
    if not slots:
        state.day = None
        return ask(state, Question.DAY, f"I have nothing free on {speak_day(day)}.")
    state.day, state.slots, state.slots_day = day, slots, day
    offer = sentence(f"On {speak_day(day)} I have {speak_slots(slots)}")
    return ask(state, Question.TIME, offer)


def _tell_booked(
    data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk
) -> Reply:
    booked = _appointment({**result.arguments, **data})
    if booked is None:
        return _unclear(state, desk)
    name = data.get("name") or result.arguments.get("name")
    state.finish_task()
    state.target = booked
    state.name = name if isinstance(name, str) and name else state.name
    return ask(
        state,
        Question.ANYTHING_ELSE,
        sentence(f"Done. Your appointment is on {speak_moment(booked.day, booked.time)}"),
    )


def _tell_found(data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk) -> Reply:
    if not isinstance(data.get("appointments"), list):
        return _unclear(state, desk)
    listed = (_appointment(item) for item in _items(data["appointments"]))
    found = tuple(item for item in listed if item is not None)
    if not found:
        return _tell_none_found(result, state)
    state.choices = found
    if len(found) == 1:
        state.target, state.choices = found[0], ()
    elif state.task is Task.CANCEL:
        choose(state, state.day, state.time)
    if state.task is Task.MOVE and state.target:
        return proceed(state, desk)
    if state.task is Task.CANCEL and state.target:
        return confirm_cancel(state, state.target)
    moments = [speak_moment(item.day, item.time) for item in found[:3]]
    if state.task in (Task.MOVE, Task.CANCEL):
        listing = sentence(f"You have {len(found)} appointments: {join(moments)}")
        return ask(state, Question.WHICH_APPOINTMENT, listing)
    state.finish_task()
    if len(found) == 1:
        purpose = f" for {found[0].reason.rstrip('.')}" if found[0].reason else ""
        return Reply(sentence(f"Your appointment{purpose} is on {moments[0]}"))
    state.target, state.choices = None, found
    return Reply(sentence(f"You have {len(found)} appointments: {join(moments)}"))


def _tell_none_found(result: ToolResult, state: CallState) -> Reply:
    name = result.arguments.get("name")
    state.name = None
    state.target = None
    state.task = state.task or Task.FIND
    under = f" under {name[:80]}" if isinstance(name, str) and name else ""
    return ask(state, Question.OTHER_NAME, f"I find no appointment{under}.")


def _tell_moved(data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk) -> Reply:
    moved = _appointment({**result.arguments, **data})
    if moved is None:
        return _unclear(state, desk)
    state.finish_task()
    state.target = moved
    text = sentence(f"Done. Your appointment is now on {speak_moment(moved.day, moved.time)}")
    return ask(state, Question.ANYTHING_ELSE, text)


def _tell_cancelled(
    data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk
) -> Reply:
    state.finish_task()
    state.target = None
    return ask(state, Question.ANYTHING_ELSE, "Done. Your appointment is cancelled.")


def _tell_transfer(
    data: Mapping[str, Any], result: ToolResult, state: CallState, desk: Desk
) -> Reply:
    state.finish_task()
    if data.get("status") == "requested":
        told = "Nobody can be put through right now. A colleague has been asked to call you back."
        return ask(state, Question.ANYTHING_ELSE, told)
    return Reply("I am handing you over to a colleague. Please stay on the line.")


_Teller = Callable[[Mapping[str, Any], ToolResult, CallState, Desk], Reply]
_TELLERS: dict[str, _Teller] = {
    "opening_hours": _tell_hours,
    "find_free_slots": _tell_slots,
    "book_appointment": _tell_booked,
    "find_appointment": _tell_found,
    "move_appointment": _tell_moved,
    "cancel_appointment": _tell_cancelled,
    "transfer_to_human": _tell_transfer,
}
