"""Tools of a practice's front desk: opening hours and the appointment book."""

from datetime import date, datetime, time, timedelta
from typing import Annotated, Literal

from livekit.agents import RunContext

from voice_agent.appointments import Appointment, SlotTaken, UnknownAppointment
from voice_agent.opening_hours import WEEKDAYS
from voice_agent.scopes import Scope
from voice_agent.tools.arguments import (
    Absent,
    AppointmentId,
    Day,
    OptionalDay,
    PersonName,
    Reason,
    TimeOfDay,
)
from voice_agent.tools.definition import Arguments, Result, Tool, ToolContext, ToolRefusal
from voice_agent.tools.spoken import spoken_day, spoken_time

HORIZON_DAYS = 365
"""How far ahead one can book."""

MAX_ALTERNATIVES = 3
"""Free slots offered for one that is taken; more cannot be remembered by ear."""


class _OpeningHours(Arguments):
    day: OptionalDay = None


class _FindFreeSlots(Arguments):
    day: Day
    part_of_day: Annotated[Literal["morning", "afternoon"] | None, Absent] = None


class _BookAppointment(Arguments):
    name: PersonName
    day: Day
    time: TimeOfDay
    reason: Reason = ""


class _FindAppointment(Arguments):
    name: PersonName


class _MoveAppointment(Arguments):
    appointment_id: AppointmentId
    day: Day
    time: TimeOfDay


class _CancelAppointment(Arguments):
    appointment_id: AppointmentId


async def _opening_hours(arguments: _OpeningHours, context: ToolContext, _: RunContext) -> Result:
    weekdays = range(7) if arguments.day is None else (arguments.day.weekday(),)
    spans = {weekday: context.hours.on(weekday) for weekday in weekdays}
    return {
        "hours": [
            {"day": WEEKDAYS[weekday], "open": _hhmm(span[0]), "close": _hhmm(span[1])}
            for weekday, span in spans.items()
            if span is not None
        ],
        "closed": [WEEKDAYS[weekday] for weekday, span in spans.items() if span is None],
    }


async def _find_free_slots(
    arguments: _FindFreeSlots, context: ToolContext, _: RunContext
) -> Result:
    _require_open(arguments.day, context)
    slots = await _free_slots(arguments.day, context)
    if arguments.part_of_day == "morning":
        slots = [slot for slot in slots if slot.hour < 12]
    elif arguments.part_of_day == "afternoon":
        slots = [slot for slot in slots if slot.hour >= 12]
    return {
        "day": arguments.day.isoformat(),
        "weekday": WEEKDAYS[arguments.day.weekday()],
        "slots": [_hhmm(slot) for slot in slots],
    }


async def _book_appointment(
    arguments: _BookAppointment, context: ToolContext, _: RunContext
) -> Result:
    await _require_slot(arguments.day, arguments.time, context)
    try:
        appointment = await context.appointments.book(
            name=arguments.name,
            day=arguments.day,
            time=arguments.time,
            reason=arguments.reason,
        )
    except SlotTaken:
        raise await _taken(arguments.day, arguments.time, context) from None
    return _describe(appointment)


async def _find_appointment(
    arguments: _FindAppointment, context: ToolContext, _: RunContext
) -> Result:
    found = await context.appointments.find(arguments.name, since=context.clock())
    return {"appointments": [_describe(appointment) for appointment in found]}


async def _move_appointment(
    arguments: _MoveAppointment, context: ToolContext, _: RunContext
) -> Result:
    await _require_slot(arguments.day, arguments.time, context)
    try:
        moved = await context.appointments.move(
            arguments.appointment_id, day=arguments.day, time=arguments.time
        )
    except SlotTaken:
        raise await _taken(arguments.day, arguments.time, context) from None
    except UnknownAppointment:
        raise _unknown() from None
    return _describe(moved)


async def _cancel_appointment(
    arguments: _CancelAppointment, context: ToolContext, _: RunContext
) -> Result:
    try:
        cancelled = await context.appointments.cancel(arguments.appointment_id)
    except UnknownAppointment:
        raise _unknown() from None
    return {"cancelled": True, **_describe(cancelled)}


async def _require_slot(day: date, start: time, context: ToolContext) -> None:
    """Refuse what is closed, past, too far ahead or between two slots."""
    _require_open(day, context)
    if datetime.combine(day, start) <= context.clock():
        raise ToolRefusal(
            "That time has already passed.", alternatives=await _nearest(day, start, context)
        )
    if start not in context.hours.slots(day):
        span = context.hours.on(day.weekday())
        inside = span is not None and span[0] <= start < span[1]
        raise ToolRefusal(
            f"Appointments start every {context.hours.slot_minutes} minutes."
            if inside
            else "The practice is closed at that time.",
            alternatives=await _nearest(day, start, context),
        )


def _require_open(day: date, context: ToolContext) -> None:
    today = context.clock().date()
    if day < today:
        raise ToolRefusal("That day has already passed.", today=today.isoformat())
    if day > today + timedelta(days=HORIZON_DAYS):
        raise ToolRefusal("Appointments can be made for the next twelve months only.")
    if context.hours.on(day.weekday()) is None:
        next_open = context.hours.next_open_day(day)
        raise ToolRefusal(
            f"The practice is closed on {WEEKDAYS[day.weekday()]}.",
            alternatives=[],
            next_open_day=next_open.isoformat() if next_open else None,
        )


async def _free_slots(day: date, context: ToolContext) -> list[time]:
    taken = await context.appointments.taken(day)
    now = context.clock()
    return [
        slot
        for slot in context.hours.slots(day)
        if slot not in taken and datetime.combine(day, slot) > now
    ]


async def _nearest(day: date, wanted: time, context: ToolContext) -> list[str]:
    at = datetime.combine(day, wanted)
    free = await _free_slots(day, context)
    nearest = sorted(free, key=lambda slot: abs(datetime.combine(day, slot) - at))
    return [_hhmm(slot) for slot in sorted(nearest[:MAX_ALTERNATIVES])]


async def _taken(day: date, wanted: time, context: ToolContext) -> ToolRefusal:
    return ToolRefusal(
        "That time is already taken.", alternatives=await _nearest(day, wanted, context)
    )


def _unknown() -> ToolRefusal:
    return ToolRefusal("There is no such appointment. Look it up with find_appointment first.")


def _describe(appointment: Appointment) -> Result:
    described = {
        "appointment_id": appointment.id,
        "name": appointment.name,
        "day": appointment.day.isoformat(),
        "time": _hhmm(appointment.time),
        "spoken_day": spoken_day(appointment.day),
        "spoken_time": spoken_time(appointment.time),
    }
    return {**described, "reason": appointment.reason} if appointment.reason else described


def _hhmm(moment: time) -> str:
    return moment.strftime("%H:%M")


_READ = frozenset({Scope.APPOINTMENTS_READ})
_WRITE = frozenset({Scope.APPOINTMENTS_WRITE})

APPOINTMENT_TOOLS = (
    Tool(
        "opening_hours",
        "Opening hours of the practice, for the week or for one day.",
        _OpeningHours,
        _opening_hours,
        needs_opening_hours=True,
        needs=_READ,
    ),
    Tool(
        "find_free_slots",
        "Free appointment times on one day.",
        _FindFreeSlots,
        _find_free_slots,
        needs_opening_hours=True,
        needs=_READ,
    ),
    Tool(
        "book_appointment",
        "Book an appointment. Needs the patient's name, a day and a time; ask for what is missing.",
        _BookAppointment,
        _book_appointment,
        needs_opening_hours=True,
        needs=_WRITE,
        writes=True,
    ),
    Tool(
        "find_appointment",
        "Look up the coming appointments of a patient by name.",
        _FindAppointment,
        _find_appointment,
        needs=_READ,
    ),
    Tool(
        "move_appointment",
        "Move an appointment to another day and time. Look it up first.",
        _MoveAppointment,
        _move_appointment,
        needs_opening_hours=True,
        needs=_WRITE,
        writes=True,
    ),
    Tool(
        "cancel_appointment",
        "Cancel an appointment. Look it up first, and let the caller confirm.",
        _CancelAppointment,
        _cancel_appointment,
        needs=_WRITE,
        writes=True,
    ),
)
"""In the order in which a model sees them."""
