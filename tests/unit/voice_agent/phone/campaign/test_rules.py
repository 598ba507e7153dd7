"""Calling hours in the time of who is called, and the file that says what a campaign keeps to."""

from datetime import UTC, datetime, time
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_agent.opening_hours import WEEKDAYS
from voice_agent.phone.campaign.rules import CallingHours, CampaignRules, read_rules
from voice_agent.phone.errors import BadInput

BERLIN, KOLKATA, NEW_YORK = map(ZoneInfo, ("Europe/Berlin", "Asia/Kolkata", "America/New_York"))
WORKDAYS = CampaignRules().hours


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "zone", "opens"),
    [
        ("2026-11-23T12:00", BERLIN, "2026-11-23T12:00"),  # Monday, 13:00 there
        ("2026-11-23T07:00", BERLIN, "2026-11-23T08:00"),
        ("2026-11-23T19:00", BERLIN, "2026-11-24T08:00"),  # 20:00 is closing time
        ("2026-11-23T18:59", BERLIN, "2026-11-23T18:59"),
        ("2026-11-20T19:00", BERLIN, "2026-11-23T08:00"),  # Friday evening
        ("2026-11-22T12:00", BERLIN, "2026-11-23T08:00"),  # Sunday
        ("2026-11-22T20:00", KOLKATA, "2026-11-23T03:30"),  # Monday 01:30 there
        ("2026-11-23T12:00", NEW_YORK, "2026-11-23T14:00"),
        ("2026-11-24T00:30", NEW_YORK, "2026-11-24T00:30"),  # Monday 19:30 there
        ("2026-03-30T06:30", BERLIN, "2026-03-30T07:00"),  # the first Monday of summer time
    ],
)
def test_the_next_moment_within_hours(now: str, zone: ZoneInfo, opens: str) -> None:
    assert WORKDAYS.next_open(utc(now), zone) == utc(opens)


@given(
    st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1), timezones=st.just(UTC)),
    st.sampled_from(["Europe/Berlin", "Asia/Kolkata", "America/New_York", "Pacific/Apia", "UTC"]),
    st.sets(st.sampled_from(WEEKDAYS), min_size=1),
)
def test_it_is_always_within_hours_and_never_in_the_past(
    now: datetime, zone: str, days: set[str]
) -> None:
    hours = CallingHours.model_validate({day.lower(): "09:00-20:00" for day in days})
    opens = hours.next_open(now, ZoneInfo(zone))
    there = opens.astimezone(ZoneInfo(zone))
    assert opens >= now
    assert WEEKDAYS[there.weekday()] in days
    assert time(9) <= there.time() < time(20)


def test_the_defaults_annoy_few() -> None:
    rules = read_rules(None)
    assert (rules.concurrency, rules.attempts) == (1, 3)
    assert rules.hours.saturday is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("concurrency: 0", "line 1: concurrency: Input should be greater"),
        ("concurrency: 65", "concurrency"),
        ("concurrency: many", "concurrency"),
        ("calls_per_minute: 0", "calls_per_minute"),
        ("calls_per_minute: nan", "calls_per_minute"),
        ("calls_per_minute: inf", "calls_per_minute"),
        ("attempts: 11", "attempts"),
        ("retry_after_minutes: 4", "retry_after_minutes"),
        ("timezone: Berlin", "timezone: is not an IANA time zone"),
        ("timezone: ../../etc/passwd", "timezone: is not an IANA time zone"),
        ("\nhours: {monday: 9-17}", 'line 2: hours.monday: must look like "08:00-18:00"'),
        ("hours: {}", "hours: has no day with hours"),
        ("hours: {moonday: 09:00-17:00}", "hours.moonday"),
        ("opening: " + "x" * 601, "opening"),
        ("speed: 1", "line 1: speed"),
        ("- a", "must be a list of fields"),
    ],
)
def test_a_mistake_names_line_and_field(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    with pytest.raises(BadInput) as caught:
        read_rules(path)
    assert told in caught.value.message
