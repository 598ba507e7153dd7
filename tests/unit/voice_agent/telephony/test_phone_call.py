import asyncio
from datetime import date
from types import SimpleNamespace
from typing import Any

import pytest
from livekit import api

from tests.unit.voice_agent.telephony.livekit_api import Api
from tests.unit.voice_agent.telephony.rooms import Room, Session, participant
from voice_agent.telephony import phone_call
from voice_agent.telephony.call_outcome import DO_NOT_CALL, OUTCOME_ATTRIBUTE
from voice_agent.telephony.caller import phone_caller
from voice_agent.telephony.card_capture import CaptureFailed
from voice_agent.telephony.phone_call import MAX_TRANSFERS, PhoneCall
from voice_agent.telephony.phone_spec import PhoneSpec
from voice_agent.telephony.tokeniser import LocalTokeniser
from voice_agent.telephony.transfer import TransferFailed

SPEC = PhoneSpec.model_validate(
    {
        "keys": {"menu": {"1": "I would like to book an appointment."}},
        "transfers": {
            "accounts": {"number": "+15550199", "when": "An invoice."},
            "sales": {"number": "+15550198", "when": "Buying.", "how": "warm"},
        },
    }
)


class Bench:
    def __init__(self, *, ours: bool = False) -> None:
        caller = participant("caller", phoneNumber="+15550123", ruleID="" if ours else "SDR_1")
        self.room = Room(caller)
        self.livekit = Api()
        self.session: Any = Session()
        self.texts: list[str] = []
        self.begun = 0
        self.over = asyncio.Event()
        known = phone_caller(caller)
        assert known is not None
        job: Any = SimpleNamespace(room=self.room, api=self.livekit)
        self.phone = PhoneCall(
            job,
            known,
            SPEC,
            on_text=self.texts.append,
            on_begin=self._begin,
            on_over=self.over.set,
            tokeniser=LocalTokeniser(),
        )
        self.phone.open()

    def _begin(self) -> None:
        self.begun += 1

    async def caller_leaves(self, _: Any) -> Any:
        self.room.leave("caller")
        return SimpleNamespace(status=0)


@pytest.fixture
async def bench() -> Any:
    bench = Bench()
    yield bench
    await bench.phone.aclose()


async def test_keys_reach_the_conversation(bench: Bench) -> None:
    bench.room.press("1#")
    bench.room.press("4242#")
    assert bench.texts == ["I would like to book an appointment.", "keys: 4242"]
    assert bench.begun == 2


async def test_a_closed_call_hears_no_keys(bench: Bench) -> None:
    await bench.phone.aclose()
    bench.room.press("1#")
    assert bench.texts == []


async def test_a_cold_transfer_is_told_and_holds_the_line(bench: Bench) -> None:
    async def look(request: Any) -> Any:
        assert bench.session.tone_sounds
        assert bench.session.input.heard is False
        assert bench.phone.is_waiting
        return await bench.caller_leaves(request)

    bench.livekit.on_transfer = look
    await bench.phone.transfer(bench.session, "accounts", "")
    assert bench.session.said == [SPEC.transfer_words]
    assert not bench.session.tone_sounds


async def test_a_caller_who_could_not_be_transferred_is_told_and_heard_again(bench: Bench) -> None:
    async def fail(_: Any) -> None:
        raise api.SipCallError("x", "x", status=500, metadata={"sip_status_code": "486"})

    bench.livekit.on_transfer = fail
    with pytest.raises(TransferFailed, match="busy"):
        await bench.phone.transfer(bench.session, "accounts", "")
    assert bench.session.said == [SPEC.transfer_words, SPEC.transfer_failed_words]
    assert bench.session.input.heard is True
    assert not bench.session.tone_sounds
    assert not bench.phone.is_waiting
    bench.room.press("7#")
    assert bench.texts == ["keys: 7"]


async def test_only_destinations_of_the_persona(bench: Bench) -> None:
    with pytest.raises(KeyError):
        await bench.phone.transfer(bench.session, "+15550000", "")
    assert bench.livekit.requests == []


async def test_who_wants_no_calls_is_told_to_the_campaign(bench: Bench) -> None:
    await bench.phone.refuse_calls()
    assert bench.room.local_participant.attributes == {OUTCOME_ATTRIBUTE: DO_NOT_CALL}


async def test_telephones_are_not_rung_without_end(bench: Bench) -> None:
    async def fail(_: Any) -> None:
        raise TimeoutError

    bench.livekit.on_transfer = fail
    for _ in range(MAX_TRANSFERS + 3):
        with pytest.raises(TransferFailed):
            await bench.phone.transfer(bench.session, "accounts", "")
    assert len(bench.livekit.of("transfer")) == MAX_TRANSFERS


class FakeWarm:
    person = "person_1"

    def __init__(self, *_: Any) -> None:
        self.calls: list[tuple[Any, ...]] = []

    async def run(self, *call: Any) -> None:
        FakeWarm.last = call


async def test_a_person_is_told_the_summary_without_card_numbers(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phone_call, "WarmTransfer", FakeWarm)
    bench.room.join(participant("person_1"))
    await bench.phone.transfer(bench.session, "sales", "Peter pays with 4111 1111 1111 1111.")
    _, trunk, words, _ = FakeWarm.last
    assert trunk == "ST_1"
    assert words == f"Peter pays with [card number]. {SPEC.offer_words}"


@pytest.mark.parametrize("how", ["leave", "hang_up"])
@pytest.mark.parametrize("who", ["person_1", "caller"])
async def test_after_a_warm_transfer_the_agent_is_deaf_and_hangs_up_with_either(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, who: str, how: str
) -> None:
    monkeypatch.setattr(phone_call, "WarmTransfer", FakeWarm)
    bench.room.join(participant("person_1"))
    await bench.phone.transfer(bench.session, "sales", "")
    assert bench.session.said[-1] == SPEC.connected_words
    assert bench.session.input.heard is False
    assert bench.phone.is_waiting
    bench.room.press("1#")
    assert bench.texts == []
    getattr(bench.room, how)(who)
    await asyncio.wait_for(bench.over.wait(), 5)


@pytest.mark.parametrize("trunks", [[], ["ST_1", "ST_2"]])
async def test_a_warm_transfer_needs_one_trunk(bench: Bench, trunks: list[str]) -> None:
    bench.livekit.trunks = trunks
    with pytest.raises(TransferFailed, match="not allowed"):
        await bench.phone.transfer(bench.session, "sales", "")
    assert bench.session.input.heard is True


async def test_no_card_while_somebody_else_would_get_the_keys(bench: Bench) -> None:
    bench.room.join(participant("supervisor"))
    with pytest.raises(CaptureFailed, match="not alone"):
        await bench.phone.take_card(bench.session, date(2026, 11, 21))


async def test_a_call_that_ends_ends_what_is_going_on(bench: Bench) -> None:
    ringing = asyncio.Event()

    async def ring(_: Any) -> None:
        ringing.set()
        await asyncio.Event().wait()

    bench.livekit.on_transfer = ring
    transfer = asyncio.create_task(bench.phone.transfer(bench.session, "accounts", ""))
    await asyncio.wait_for(ringing.wait(), 5)
    await bench.phone.aclose()
    assert transfer.cancelled()
    assert not bench.session.tone_sounds


async def test_a_caller_who_called_us_is_greeted_at_once(bench: Bench) -> None:
    assert await bench.phone.greet_whom(bench.session) is True
    assert not bench.phone.is_screening


async def test_one_thing_at_a_time(bench: Bench) -> None:
    ringing = asyncio.Event()

    async def ring(_: Any) -> None:
        ringing.set()
        await asyncio.Event().wait()

    bench.livekit.on_transfer = ring
    transfer = asyncio.create_task(bench.phone.transfer(bench.session, "accounts", ""))
    await asyncio.wait_for(ringing.wait(), 5)
    with pytest.raises(CaptureFailed, match="not alone"):
        await bench.phone.take_card(bench.session, date(2026, 11, 21))
    with pytest.raises(TransferFailed):
        await bench.phone.transfer(bench.session, "accounts", "")
    assert len(bench.livekit.of("transfer")) == 1
    transfer.cancel()
    await asyncio.gather(transfer, return_exceptions=True)


async def test_a_person_who_hangs_up_in_the_moment_of_joining_is_noticed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(phone_call, "WarmTransfer", FakeWarm)
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.phone.transfer(bench.session, "sales", "")
    assert bench.session.said[-1] == SPEC.transfer_failed_words
    assert bench.session.input.heard is True
    assert not bench.phone.is_waiting
