"""When a practice is open, and the slots that follow from it."""

import re
from datetime import date, datetime, time, timedelta
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""English names by `date.weekday()`; `strftime` would follow the machine's locale."""

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


def _parse_span(value: object) -> object:
    if not isinstance(value, str):
        return value
    match = _SPAN.fullmatch(value.strip())
    if match is None:
        raise ValueError('must look like "08:00-18:00"')
    opens, closes = (
        time(int(match[1]), int(match[2])),
        time(int(match[3]), int(match[4])),
    )
    if closes <= opens:
        raise ValueError("must close after it opens")
    return opens, closes


Span = Annotated[tuple[time, time], BeforeValidator(_parse_span)]
"""Opening and closing time, written "08:00-18:00"."""


class WeeklyHours(BaseModel):
    """One span for each day of a week; a day that is left out has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    monday: Span | None = None
    tuesday: Span | None = None
    wednesday: Span | None = None
    thursday: Span | None = None
    friday: Span | None = None
    saturday: Span | None = None
    sunday: Span | None = None

    def on(self, weekday: int) -> tuple[time, time] | None:
        """Opening and closing time by `date.weekday()`; None when closed."""
        span: tuple[time, time] | None = getattr(self, WEEKDAYS[weekday].lower())
        return span


class OpeningHours(WeeklyHours):
    """A week's hours, in slots; a day that is left out is closed."""

    slot_minutes: int = Field(30, ge=5, le=240)
    """Length of an appointment, minutes."""

    def slots(self, day: date) -> tuple[time, ...]:
        """Starts of every slot of a day that ends before closing time."""
        span = self.on(day.weekday())
        if span is None:
            return ()
        length = timedelta(minutes=self.slot_minutes)
        start, closes = datetime.combine(day, span[0]), datetime.combine(day, span[1])
        count = (closes - start) // length
        return tuple((start + length * index).time() for index in range(count))

    def next_open_day(self, after: date) -> date | None:
        """The first open day after a date; None when no day is ever open."""
        for offset in range(1, 8):
            day = after + timedelta(days=offset)
            if self.on(day.weekday()) is not None:
                return day
        return None
