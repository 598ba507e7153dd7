"""A campaign run with a clock and a telephone of our own, and the real state file."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from voice_agent.phone.campaign.call_list import Contact
from voice_agent.phone.campaign.do_not_call import DoNotCallList
from voice_agent.phone.campaign.rules import CampaignRules
from voice_agent.phone.campaign.runner import Campaign, Progress, Summary
from voice_agent.phone.campaign.schedule import History
from voice_agent.phone.campaign.state import CampaignState, only_one
from voice_agent.phone.dialling import CallResult
from voice_agent.phone.errors import BadInput, NotConnected, PhoneError
from voice_agent.phone.outcome import Outcome

MONDAY_NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
UTC_ZONE = ZoneInfo("UTC")
PEOPLE = [Contact(f"+1555010{digit}", UTC_ZONE) for digit in range(5)]
ANN, BOB, CHO, DAN, EVE = (contact.number for contact in PEOPLE)


class Clock:
    """Time passes only where somebody waits for it."""

    def __init__(self) -> None:
        self.time = MONDAY_NOON

    def now(self) -> datetime:
        return self.time

    async def sleep_until(self, when: datetime) -> None:
        await asyncio.sleep(0)
        self.time = max(self.time, when)


class Phone:
    """Answers as scripted, in turn for each number; answered where nothing is scripted."""

    def __init__(self, script: Mapping[str, Sequence[Outcome | PhoneError]] | None = None) -> None:
        self.script = {number: list(outcomes) for number, outcomes in (script or {}).items()}
        self.dialled: list[str] = []
        self.ringing: set[str] = set()
        self.rings = asyncio.Event()
        self.picked_up: asyncio.Event | None = None
        """Where set, no call ends before it."""

    async def dial(self, number: str) -> CallResult:
        self.dialled.append(number)
        self.ringing.add(number)
        self.rings.set()
        try:
            if self.picked_up is not None:
                await self.picked_up.wait()
        finally:
            self.ringing.remove(number)
        answer = (self.script.get(number) or [Outcome.ANSWERED]).pop(0)
        if isinstance(answer, PhoneError):
            raise answer
        return CallResult(answer, 486 if answer is Outcome.BUSY else None)


class Bench:
    """A campaign and everything around it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "no.txt").touch()
        self.state_file = folder / "state"
        self.clock = Clock()
        self.told: list[Progress] = []

    async def campaign(
        self, phone: Phone, people: Sequence[Contact] = PEOPLE, **rules: float
    ) -> Campaign:
        state = CampaignState(self.state_file)
        return Campaign(
            people,
            await state.open("front_desk"),
            CampaignRules.model_validate(rules),
            state,
            phone,
            DoNotCallList(self.folder / "no.txt"),
            self.clock,
            self.told.append,
        )

    async def run(
        self, phone: Phone, people: Sequence[Contact] = PEOPLE, **rules: float
    ) -> Summary:
        return await (await self.campaign(phone, people, **rules)).run()

    async def history(self) -> Mapping[str, History]:
        return await CampaignState(self.state_file).open("front_desk")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


async def test_everybody_is_called_once(bench: Bench) -> None:
    phone = Phone()
    summary = await bench.run(phone)
    assert phone.dialled == [ANN, BOB, CHO, DAN, EVE]
    assert summary.outcomes == Counter({Outcome.ANSWERED: 5})
    assert bench.clock.time - MONDAY_NOON == timedelta(seconds=40)
    again = Phone()
    assert (await bench.run(again)).outcomes == Counter()
    assert again.dialled == []


async def test_busy_is_tried_again_later_and_refusal_never(bench: Bench) -> None:
    phone = Phone({ANN: [Outcome.BUSY, Outcome.NO_ANSWER, Outcome.BUSY], BOB: [Outcome.DECLINED]})
    summary = await bench.run(phone)
    assert Counter(phone.dialled) == Counter({ANN: 3, BOB: 1, CHO: 1, DAN: 1, EVE: 1})
    assert summary.outcomes[Outcome.BUSY] == 2
    assert [told.attempt for told in bench.told if told.number == ANN] == [1, 2, 3]
    assert (await bench.history())[ANN].attempts == 3


async def test_who_asks_not_to_be_called_stands_in_the_list_from_then_on(bench: Bench) -> None:
    await bench.run(Phone({BOB: [Outcome.DO_NOT_CALL]}))
    assert (bench.folder / "no.txt").read_text() == f"{BOB}\n"
    bench.state_file.unlink()
    phone = Phone()
    summary = await bench.run(phone)
    assert BOB not in phone.dialled
    assert summary.listed == 1


async def test_who_is_listed_while_it_runs_is_not_called(bench: Bench) -> None:
    phone = Phone()
    dial = phone.dial

    async def listing(number: str) -> CallResult:
        (bench.folder / "no.txt").write_text(f"{CHO}\n")
        return await dial(number)

    phone.dial = listing  # type: ignore[method-assign]
    await bench.run(phone)
    assert phone.dialled == [ANN, BOB, DAN, EVE]


async def test_concurrency_is_used_and_not_exceeded(bench: Bench) -> None:
    phone = Phone()
    phone.picked_up = asyncio.Event()
    task = asyncio.create_task(bench.run(phone, concurrency=3))
    while len(phone.ringing) < 3:
        await phone.rings.wait()
        phone.rings.clear()
        await asyncio.sleep(0)
    assert phone.ringing == {ANN, BOB, CHO}
    phone.picked_up.set()
    assert (await task).outcomes[Outcome.ANSWERED] == 5


async def test_stopping_ends_what_goes_on_and_the_next_run_goes_on(bench: Bench) -> None:
    phone = Phone()
    phone.picked_up = asyncio.Event()
    campaign = await bench.campaign(phone)
    task = asyncio.create_task(campaign.run())
    await phone.rings.wait()
    campaign.stop()
    phone.picked_up.set()
    summary = await task
    assert (phone.dialled, summary.unfinished) == ([ANN], True)
    rest = Phone()
    await bench.run(rest)
    assert rest.dialled == [BOB, CHO, DAN, EVE]


async def test_a_cancelled_run_hangs_up_and_calls_nobody_twice(bench: Bench) -> None:
    phone = Phone()
    phone.picked_up = asyncio.Event()
    task = asyncio.create_task(bench.run(phone))
    await phone.rings.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert phone.ringing == set()
    assert (await bench.history())[ANN].outcome is Outcome.INTERRUPTED
    rest = Phone()
    await bench.run(rest)
    assert ANN not in rest.dialled


async def test_a_killed_run_calls_nobody_twice(bench: Bench) -> None:
    state = CampaignState(bench.state_file)
    await state.open("front_desk")
    await state.begin(ANN, MONDAY_NOON)
    phone = Phone()
    await bench.run(phone)
    assert phone.dialled == [BOB, CHO, DAN, EVE]


async def test_it_stops_when_the_provider_refuses_again_and_again(bench: Bench) -> None:
    refused = [Outcome.TRUNK_FAILED]
    phone = Phone({number: refused for number in (ANN, BOB, CHO, DAN, EVE)})
    with pytest.raises(PhoneError, match="refused 3 calls in a row"):
        await bench.run(phone)
    assert phone.dialled == [ANN, BOB, CHO]


async def test_one_refusal_among_others_does_not_stop_it(bench: Bench) -> None:
    phone = Phone({number: [Outcome.TRUNK_FAILED] for number in (ANN, CHO, EVE)})
    summary = await bench.run(phone, attempts=1)
    assert summary.outcomes[Outcome.TRUNK_FAILED] == 3


async def test_it_stops_at_once_when_no_agent_comes(bench: Bench) -> None:
    phone = Phone({BOB: [Outcome.NO_AGENT]})
    with pytest.raises(PhoneError, match="no agent came"):
        await bench.run(phone)
    assert phone.dialled == [ANN, BOB]


async def test_a_server_that_is_gone_stops_it_and_costs_nobody_their_call(bench: Bench) -> None:
    with pytest.raises(NotConnected):
        await bench.run(Phone({ANN: [NotConnected("gone")]}))
    assert (await bench.history())[ANN].outcome is Outcome.TRUNK_FAILED
    phone = Phone()
    await bench.run(phone)
    assert sorted(phone.dialled) == [ANN, BOB, CHO, DAN, EVE]


async def test_a_list_that_becomes_unreadable_stops_it(bench: Bench) -> None:
    phone = Phone()
    dial = phone.dial

    async def spoiling(number: str) -> CallResult:
        (bench.folder / "no.txt").write_text("not a number\n")
        return await dial(number)

    phone.dial = spoiling  # type: ignore[method-assign]
    with pytest.raises(BadInput, match="line 1"):
        await bench.run(phone)
    assert phone.dialled == [ANN]


async def test_a_state_that_cannot_be_written_calls_nobody(bench: Bench) -> None:
    phone = Phone()
    campaign = await bench.campaign(phone)
    bench.state_file.unlink()
    bench.state_file.mkdir()
    with pytest.raises(BadInput, match="--state"):
        await campaign.run()
    assert phone.dialled == []


async def test_one_state_file_belongs_to_one_persona_and_one_process(bench: Bench) -> None:
    await bench.run(Phone())
    with pytest.raises(BadInput, match="begun with the persona front_desk"):
        await CampaignState(bench.state_file).open("bank_support")
    held = only_one(bench.state_file)
    with held, pytest.raises(BadInput, match="another"), only_one(bench.state_file):
        pass


async def test_a_file_that_is_no_state(bench: Bench) -> None:
    bench.state_file.write_bytes(b"number,consent\n" * 100)
    with pytest.raises(BadInput, match="not a database"):
        await bench.history()
