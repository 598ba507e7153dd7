"""What a campaign keeps to: how many calls, when, and how often again. One YAML file."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from voice_agent.opening_hours import WEEKDAYS, WeeklyHours
from voice_agent.persona_yaml import PersonaError, construct, line_of, parse, read_file
from voice_agent.phone.errors import BadInput, one_line
from voice_agent.phone.opening import MAX_OPENING_CHARS

_WORKDAY = "09:00-20:00"
"""Within 8 a.m. to 9 p.m. at the called party's location. Source: 47 CFR 64.1200(c)(1)."""

DAYS_AHEAD = 8
"""Days in which an open one is found if there is any: a week, and the rest of today."""


def time_zone(value: str) -> str:
    """The name, when it is an IANA time zone.

    Raises:
        ValueError: it is none.
    """
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("is not an IANA time zone such as Europe/London") from None
    return value


TimeZone = Annotated[str, Field(max_length=64), AfterValidator(time_zone)]


class _Fields(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class CallingHours(WeeklyHours):
    """When people may be called, in their own time; a day that is left out is a day off."""

    @model_validator(mode="after")
    def _some(self) -> Self:
        if all(self.on(weekday) is None for weekday in range(len(WEEKDAYS))):
            raise ValueError("has no day with hours, so nobody could ever be called")
        return self

    def next_open(self, now: datetime, zone: ZoneInfo) -> datetime:
        """The first moment from now on at which it is within hours.

        Args:
            now: with its time zone.
            zone: of who is called.
        """
        today = now.astimezone(zone).date()
        for offset in range(DAYS_AHEAD):
            span = self._span(today + timedelta(days=offset), zone)
            if span is not None and now < span[1]:
                return max(now, span[0])
        raise AssertionError("a week without hours passed the check")

    def _span(self, day: date, zone: ZoneInfo) -> tuple[datetime, datetime] | None:
        span = self.on(day.weekday())
        if span is None:
            return None
        opens, closes = (datetime.combine(day, clock, zone).astimezone(UTC) for clock in span)
        return opens, closes


def _usual_hours() -> CallingHours:
    return CallingHours.model_validate({day.lower(): _WORKDAY for day in WEEKDAYS[:5]})


class CampaignRules(_Fields):
    """The file's fields; each has a default that annoys few people."""

    concurrency: int = Field(1, ge=1, le=64)
    """Calls at the same time."""
    calls_per_minute: float = Field(6, gt=0, le=120)
    """Calls begun in a minute, evenly spaced."""
    timezone: TimeZone | None = None
    """Time zone of who is called, for rows that name none; None: the persona's."""
    hours: CallingHours = Field(default_factory=_usual_hours)
    """When people may be called; left out: Monday to Friday, 9 to 20 o'clock."""
    attempts: int = Field(3, ge=1, le=10)
    """Calls to one person, the first one included."""
    retry_after_minutes: float = Field(120, ge=5, le=10_080)
    """Time between two calls to one person, minutes."""
    retry_voicemail: bool = False
    """Whether somebody whose machine answered, with or without a message left, is called again."""
    ringing_s: int = Field(30, ge=5, le=60)
    """Longest ringing, seconds."""
    max_call_minutes: int = Field(10, ge=1, le=120)
    """Longest call, minutes."""
    opening: Annotated[str, Field(min_length=1, max_length=MAX_OPENING_CHARS)] | None = None
    """First words of every call; must contain the persona's disclosure. None: its greeting."""

    @property
    def spacing(self) -> timedelta:
        """Shortest time between the beginnings of two calls."""
        return timedelta(minutes=1 / self.calls_per_minute)

    @property
    def retry_after(self) -> timedelta:
        """Shortest time between two calls to one person."""
        return timedelta(minutes=self.retry_after_minutes)


def read_rules(path: Path | None) -> CampaignRules:
    """Read and check the file; all defaults without one.

    Raises:
        BadInput: it cannot be read or has a mistake; names line and field.
    """
    if path is None:
        return CampaignRules()
    try:
        root = parse(path, read_file(path))
    except PersonaError as error:
        raise BadInput(one_line(str(error))) from error
    try:
        return CampaignRules.model_validate(construct(root))
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(step) for step in fault["loc"]) or "file"
        message = fault["msg"].removeprefix("Value error, ")
        line = line_of(root, fault["loc"])
        raise BadInput(f"{path}: line {line}: {field}: {message}") from None
