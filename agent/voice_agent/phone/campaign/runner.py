"""Works a list off: calls whom the schedule names, remembers what came of it, ends politely."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

from voice_agent.phone.campaign.call_list import Contact
from voice_agent.phone.campaign.do_not_call import DoNotCallList
from voice_agent.phone.campaign.rules import CampaignRules
from voice_agent.phone.campaign.schedule import Dial, Finished, History, Wait, is_done, next_step
from voice_agent.phone.campaign.state import CampaignState
from voice_agent.phone.dialling import CallResult
from voice_agent.phone.errors import PhoneError, ServiceTrouble
from voice_agent.phone.outcome import Outcome

logger = logging.getLogger(__name__)

MAX_FAILURES_IN_A_ROW = 3
"""Calls that the provider refuses one after the other before the campaign stops by itself."""


class Dialler(Protocol):
    """Makes one call."""

    async def dial(self, number: str) -> CallResult:
        """Call a number and return when the call has ended; leaves nothing when cancelled.

        Raises:
            PhoneError: we or the server failed before a telephone rang.
        """
        ...


class Clock(Protocol):
    """The time; a test has its own."""

    def now(self) -> datetime:
        """The time, with UTC as its time zone."""
        ...

    async def sleep_until(self, when: datetime) -> None:
        """Return at a time, or soon after."""
        ...


class SystemClock:
    """This machine's clock."""

    MAX_SLEEP_S = 60.0
    """Longest sleep before the clock is read again, which may be set meanwhile. Seconds."""

    def now(self) -> datetime:
        """See `Clock`."""
        return datetime.now(UTC)

    async def sleep_until(self, when: datetime) -> None:
        """See `Clock`."""
        while (left_s := (when - self.now()).total_seconds()) > 0:  # noqa: ASYNC110  (a clock has no event)
            await asyncio.sleep(min(left_s, self.MAX_SLEEP_S))


@dataclass(frozen=True)
class Progress:
    """One call that has ended."""

    number: str
    result: CallResult
    attempt: int
    """Which call to this person it was, from 1."""
    done: int
    """People who are not to be called any more."""
    people: int
    """People of the list."""


@dataclass
class Summary:
    """What a run came to."""

    outcomes: Counter[Outcome] = field(default_factory=Counter)
    """Calls of this run by outcome."""
    listed: int = 0
    """People who were not called because they stand in the list of who must not be."""
    unfinished: bool = False
    """Whether somebody is left to call."""


class Campaign:
    """One run over a list.

    Args:
        contacts: who may be called.
        history: what happened in earlier runs, by number.
        rules: the campaign's.
        state: where everything is written down.
        dialler: makes the calls.
        do_not_call: who must not be called.
        clock: the time.
        tell: takes each call that has ended.
    """

    def __init__(
        self,
        contacts: Sequence[Contact],
        history: Mapping[str, History],
        rules: CampaignRules,
        state: CampaignState,
        dialler: Dialler,
        do_not_call: DoNotCallList,
        clock: Clock,
        tell: Callable[[Progress], None],
    ) -> None:
        self._contacts = list(contacts)
        self._history = dict(history)
        self._rules = rules
        self._state = state
        self._dialler = dialler
        self._do_not_call = do_not_call
        self._clock = clock
        self._tell = tell
        self._summary = Summary()
        self._stopping = asyncio.Event()
        self._trouble: PhoneError | None = None
        self._failures_in_a_row = 0
        self._last_begun_at = max((past.last_attempt_at for past in history.values()), default=None)

    def stop(self) -> None:
        """Begin no further call; `run` returns when those that go on have ended."""
        self._stopping.set()

    async def run(self) -> Summary:
        """Call until nobody is left, or until `stop`.

        Raises:
            PhoneError: the provider, the server, the agent or a file failed, so going on would only
                annoy people; calls that went on have ended, and the campaign can go on later.
        """
        calls: set[asyncio.Task[None]] = set()
        try:
            while not self._stopping.is_set():
                step = next_step(
                    self._contacts,
                    self._history,
                    self._rules,
                    now=self._clock.now(),
                    active=len(calls),
                    last_begun_at=self._last_begun_at,
                )
                match step:
                    case Dial(contact):
                        if await self._may_begin(contact):
                            calls.add(asyncio.create_task(self._call(contact)))
                    case Wait(until):
                        await self._wait(calls, until)
                    case Finished():
                        break
                calls = {call for call in calls if not call.done()}
            self._summary.unfinished = self._stopping.is_set()
            await asyncio.gather(*calls)
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        if self._trouble is not None:
            raise self._trouble
        return self._summary

    async def _may_begin(self, contact: Contact) -> bool:
        """Look the number up once more, and write the call down before it is made."""
        try:
            if contact.number in self._do_not_call:
                self._contacts.remove(contact)
                self._summary.listed += 1
                return False
            now = self._clock.now()
            await self._state.begin(contact.number, now)
        except PhoneError as error:
            self._give_up(error)
            return False
        past = self._history.get(contact.number)
        self._history[contact.number] = History(past.attempts + 1 if past else 1, now, None)
        self._last_begun_at = now
        return True

    async def _call(self, contact: Contact) -> None:
        number = contact.number
        begun = self._history[number]
        result = CallResult(Outcome.INTERRUPTED)
        try:
            result = await self._dialler.dial(number)
        except PhoneError as error:
            result = CallResult(Outcome.TRUNK_FAILED)
            self._give_up(error)
        finally:
            await asyncio.shield(self._remember(number, begun, result))
        self._judge(result)

    async def _remember(self, number: str, begun: History, result: CallResult) -> None:
        self._history[number] = History(begun.attempts, begun.last_attempt_at, result.outcome)
        self._summary.outcomes[result.outcome] += 1
        try:
            await self._state.end(number, result.outcome, result.sip_status)
            if result.outcome is Outcome.DO_NOT_CALL:
                self._do_not_call.add(number)
        except PhoneError as error:
            self._give_up(error)
        self._tell(
            Progress(number, result, begun.attempts, self._count_done(), len(self._contacts))
        )

    def _count_done(self) -> int:
        pasts = (self._history.get(contact.number) for contact in self._contacts)
        return sum(past is not None and is_done(past, self._rules) for past in pasts)

    def _judge(self, result: CallResult) -> None:
        if result.outcome is Outcome.NO_AGENT:
            self._give_up(
                ServiceTrouble(
                    "somebody answered and no agent came, so the campaign has stopped",
                    "Start the worker (`parley phone doctor` looks for it), then run it again.",
                )
            )
        failed = result.outcome is Outcome.TRUNK_FAILED
        self._failures_in_a_row = self._failures_in_a_row + 1 if failed else 0
        if self._failures_in_a_row >= MAX_FAILURES_IN_A_ROW:
            status = f" (SIP {result.sip_status})" if result.sip_status else ""
            self._give_up(
                ServiceTrouble(
                    f"the provider refused {MAX_FAILURES_IN_A_ROW} calls in a row{status}, so the "
                    "campaign has stopped",
                    "Look at `parley phone doctor` and at the provider's own log.",
                )
            )

    def _give_up(self, error: PhoneError) -> None:
        self._trouble = self._trouble or error
        self.stop()

    async def _wait(self, calls: set[asyncio.Task[None]], until: datetime | None) -> None:
        """Wait for a time, the end of a call, or the end of the run."""
        others: list[asyncio.Task[Any]] = [asyncio.create_task(self._stopping.wait())]
        if until is not None:
            others.append(asyncio.create_task(self._clock.sleep_until(until)))
        try:
            await asyncio.wait([*calls, *others], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for other in others:
                other.cancel()
            await asyncio.gather(*others, return_exceptions=True)
