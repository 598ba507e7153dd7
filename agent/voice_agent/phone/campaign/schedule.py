"""Whom to call next, and when: a function of the list, of what has happened, and of the time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from voice_agent.phone.campaign.call_list import Contact
from voice_agent.phone.campaign.rules import CampaignRules
from voice_agent.phone.outcome import RETRYABLE, Outcome


@dataclass(frozen=True, slots=True)
class History:
    """What has happened to one person so far."""

    attempts: int
    last_attempt_at: datetime
    """When the last call to them began; UTC."""
    outcome: Outcome | None
    """How it ended; None while it goes on."""


@dataclass(frozen=True, slots=True)
class Dial:
    """Call this person now."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class Wait:
    """Nobody can be called now."""

    until: datetime | None
    """When somebody can be; None: not before a call that goes on has ended."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Nobody will have to be called any more."""


Step = Dial | Wait | Finished


def next_step(
    contacts: Sequence[Contact],
    history: Mapping[str, History],
    rules: CampaignRules,
    *,
    now: datetime,
    active: int,
    last_begun_at: datetime | None,
) -> Step:
    """Decide what to do now.

    Args:
        contacts: who may be called, in the order of the list.
        history: by number; whoever is not in it has never been called.
        rules: the campaign's.
        now: UTC.
        active: calls that go on.
        last_begun_at: when the last call to anybody began; UTC.

    Returns:
        Somebody to call, who may be called at this very moment; or until when to wait; or that
        there is nobody left.
    """
    if active >= rules.concurrency:
        return Wait(None)
    opens: dict[ZoneInfo, datetime] = {}

    def open_from(when: datetime, zone: ZoneInfo) -> datetime:
        if when > now:
            return rules.hours.next_open(when, zone)
        if zone not in opens:
            opens[zone] = rules.hours.next_open(now, zone)
        return opens[zone]

    ready = now if last_begun_at is None else max(now, last_begun_at + rules.spacing)
    soonest: datetime | None = None
    for contact in contacts:
        past = history.get(contact.number)
        if past is not None and is_done(past, rules):
            continue
        due = now if past is None else max(now, past.last_attempt_at + rules.retry_after)
        due = open_from(due, contact.zone)
        if due <= now and ready <= now:
            return Dial(contact)
        soonest = due if soonest is None else min(soonest, due)
        if soonest <= ready:
            break
    if soonest is None:
        return Wait(None) if active else Finished()
    return Wait(max(soonest, ready))


def is_done(past: History, rules: CampaignRules) -> bool:
    """Whether somebody with this past is not to be called again."""
    reached_nobody = past.outcome in RETRYABLE or (
        past.outcome is Outcome.VOICEMAIL and rules.retry_voicemail
    )
    return not reached_nobody or past.attempts >= rules.attempts
