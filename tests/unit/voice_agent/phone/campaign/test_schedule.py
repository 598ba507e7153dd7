"""Whom to call next: examples, and whole campaigns of made-up people against every promise."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from voice_agent.opening_hours import WEEKDAYS
from voice_agent.phone.campaign.call_list import Contact
from voice_agent.phone.campaign.rules import CampaignRules
from voice_agent.phone.campaign.schedule import (
    Dial,
    Finished,
    History,
    Step,
    Wait,
    next_step,
)
from voice_agent.phone.outcome import RETRYABLE, Outcome

MONDAY_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
LONDON, TOKYO = ZoneInfo("Europe/London"), ZoneInfo("Asia/Tokyo")
ANN, BOB, CHO = (
    Contact("+15550100", LONDON),
    Contact("+15550101", LONDON),
    Contact("+15550102", TOKYO),
)


def step(*contacts: Contact, now: datetime = MONDAY_NOON, **given: Any) -> Step:
    fields: dict[str, Any] = {
        "history": {}, "rules": CampaignRules(), "active": 0, "last_begun_at": None, **given
    }  # fmt: skip
    history, rules = fields.pop("history"), fields.pop("rules")
    return next_step(contacts, history, rules, now=now, **fields)


def past(outcome: Outcome | None, minutes_ago: float = 1, attempts: int = 1) -> History:
    return History(attempts, MONDAY_NOON - timedelta(minutes=minutes_ago), outcome)


def test_the_first_who_may_be_called_is_called() -> None:
    assert step(CHO, ANN, BOB) == Dial(ANN)  # 21:00 in Tokyo


def test_nobody_is_called_outside_hours() -> None:
    assert step(CHO) == Wait(datetime(2026, 11, 24, 0, tzinfo=UTC))


def test_pace() -> None:
    just_now = MONDAY_NOON - timedelta(seconds=4)
    assert step(ANN, last_begun_at=just_now) == Wait(MONDAY_NOON + timedelta(seconds=6))
    assert step(ANN, last_begun_at=MONDAY_NOON - timedelta(seconds=10)) == Dial(ANN)


def test_concurrency() -> None:
    assert step(BOB, history={ANN.number: past(None)}, active=1) == Wait(None)
    two = CampaignRules(concurrency=2)
    assert step(BOB, history={ANN.number: past(None)}, active=1, rules=two) == Dial(BOB)


def test_the_end() -> None:
    assert step() == Finished()
    assert step(ANN, history={ANN.number: past(Outcome.ANSWERED)}) == Finished()
    assert step(ANN, history={ANN.number: past(None)}, active=1) == Wait(None)


def test_retries_keep_their_distance_and_end() -> None:
    busy = {ANN.number: past(Outcome.BUSY, minutes_ago=30)}
    assert step(ANN, history=busy) == Wait(MONDAY_NOON + timedelta(minutes=90))
    assert step(ANN, BOB, history=busy) == Dial(BOB)
    assert step(ANN, history={ANN.number: past(Outcome.BUSY, 120)}) == Dial(ANN)
    assert step(ANN, history={ANN.number: past(Outcome.BUSY, 120, attempts=3)}) == Finished()


def test_a_retry_that_falls_into_the_night_waits_for_the_morning() -> None:
    evening = datetime(2026, 11, 23, 19, tzinfo=UTC)
    history = {ANN.number: History(1, evening, Outcome.NO_ANSWER)}
    assert step(ANN, history=history, now=evening) == Wait(datetime(2026, 11, 24, 9, tzinfo=UTC))


def test_a_machine_is_called_again_where_the_rules_say_so() -> None:
    machine = {ANN.number: past(Outcome.VOICEMAIL, 120)}
    assert step(ANN, history=machine) == Finished()
    assert step(ANN, history=machine, rules=CampaignRules(retry_voicemail=True)) == Dial(ANN)


def test_only_busy_and_unanswered_calls_are_repeated() -> None:
    for outcome in set(Outcome) - RETRYABLE:
        assert step(ANN, history={ANN.number: past(outcome, 10_000)}) == Finished()


contacts_of = st.lists(
    st.tuples(
        st.integers(0, 30), st.sampled_from(["Europe/London", "Asia/Tokyo", "America/Denver"])
    ),
    max_size=12,
    unique_by=lambda pair: pair[0],
).map(lambda pairs: [Contact(f"+155501{n:03}", ZoneInfo(zone)) for n, zone in pairs])

rules_of = st.builds(
    CampaignRules,
    concurrency=st.integers(1, 4),
    calls_per_minute=st.sampled_from([0.5, 6.0, 120.0]),
    attempts=st.integers(1, 4),
    retry_after_minutes=st.sampled_from([5.0, 45.0, 1500.0]),
    hours=st.sets(st.sampled_from(WEEKDAYS), min_size=1).map(
        lambda days: {day.lower(): "09:00-20:00" for day in days}
    ),
)


@settings(max_examples=150)
@given(
    contacts_of,
    rules_of,
    st.datetimes(datetime(2026, 3, 1), datetime(2026, 12, 1), timezones=st.just(UTC)),
    st.integers(0, 2**32),
)
def test_a_whole_campaign_keeps_every_promise(
    contacts: list[Contact], rules: CampaignRules, start: datetime, seed: int
) -> None:
    chance = Random(seed)
    now, history = start, dict[str, History]()
    running: list[tuple[datetime, str]] = []
    begun: list[tuple[datetime, Contact]] = []
    final = Counter[str]()
    last: datetime | None = None
    for _ in range(10_000):
        now_step = next_step(
            contacts, history, rules, now=now, active=len(running), last_begun_at=last
        )
        if now_step == Finished():
            break
        if isinstance(now_step, Dial):
            contact = now_step.contact
            there = now.astimezone(contact.zone)
            span = rules.hours.next_open(now, contact.zone)
            assert span == now, f"outside hours: {there}"
            assert last is None or now - last >= rules.spacing
            assert len(running) < rules.concurrency
            assert final[contact.number] == 0
            before = history.get(contact.number)
            assert before is None or now - before.last_attempt_at >= rules.retry_after
            attempts = before.attempts + 1 if before else 1
            assert attempts <= rules.attempts
            history[contact.number] = History(attempts, now, None)
            begun.append((now, contact))
            last = now
            running.append((now + timedelta(seconds=chance.randint(0, 900)), contact.number))
            continue
        assert isinstance(now_step, Wait)
        ends = min(running)[0] if running else None
        assert ends is not None or now_step.until is not None
        assert now_step.until is None or now_step.until > now
        now = min(when for when in (now_step.until, ends) if when is not None)
        for call in [call for call in running if call[0] <= now]:
            running.remove(call)
            outcome = chance.choice(list(Outcome))
            final[call[1]] += outcome not in RETRYABLE
            done = history[call[1]]
            history[call[1]] = History(done.attempts, done.last_attempt_at, outcome)
    else:
        raise AssertionError("it never ended")
    assert {contact.number for _, contact in begun} == {contact.number for contact in contacts}
