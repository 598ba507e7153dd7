import asyncio
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from livekit import api
from livekit.agents import APIConnectionError

from tests.unit.voice_agent.telephony.livekit_api import Api
from tests.unit.voice_agent.telephony.rooms import Room, participant
from voice_agent.telephony import consult, warm_transfer
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.phone_spec import TransferSpec
from voice_agent.telephony.transfer import TransferFailed
from voice_agent.telephony.warm_transfer import OFFERS, WarmTransfer

SALES = TransferSpec(number="+15550199", when="Buying.", how="warm", ringing_s=20)


class Source:
    """Takes the audio that the person hears."""

    def __init__(self, *_: Any, **__: Any) -> None:
        self.frames: list[Any] = []
        self.hushed = False

    async def capture_frame(self, frame: Any) -> None:
        self.frames.append(frame)

    async def wait_for_playout(self) -> None:
        pass

    def clear_queue(self) -> None:
        self.hushed = True


class Voice:
    """Speaks by handing out the words themselves."""

    def __init__(self, on_spoken: Callable[[], None] = lambda: None) -> None:
        self.words: list[str] = []
        self.on_spoken = on_spoken
        self.error: Exception | None = None

    def synthesize(self, words: str) -> "Voice":
        self.words.append(words)
        return self

    async def __aenter__(self) -> "Voice":
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def __aiter__(self) -> AsyncIterator[Any]:
        if self.error is not None:
            raise self.error
        yield SimpleNamespace(frame=self.words[-1])
        self.on_spoken()


class Bench:
    def __init__(self) -> None:
        self.room = Room(participant("caller"))
        self.livekit = Api()
        self.livekit.on_dial = self.answer
        room: Any = self.room
        self.keys = KeyLine(room)
        self.keys.open()
        livekit: Any = self.livekit
        self.warm = WarmTransfer(livekit, room, self.keys, "caller")
        self.voice = Voice()

    async def answer(self, _: Any) -> None:
        self.room.join(participant(self.warm.person))

    async def run(self) -> None:
        voice: Any = self.voice
        words = "Peter calls about an order. To take this call, press 1."
        await asyncio.wait_for(self.warm.run(SALES, "ST_1", words, voice), 5)

    def press(self, key: str) -> Callable[[], None]:
        return lambda: self.room.press(key, self.warm.person)

    @property
    def gone(self) -> bool:
        return [request.identity for request in self.livekit.of("remove")] == [self.warm.person]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    rtc = SimpleNamespace(**vars(consult.rtc))
    rtc.AudioSource = Source
    rtc.LocalAudioTrack = SimpleNamespace(create_audio_track=lambda name, source: name)
    monkeypatch.setattr(consult, "rtc", rtc)
    monkeypatch.setattr(warm_transfer, "ANSWER_S", 0.0)
    return Bench()


def heard_by(bench: Bench) -> dict[str, bool]:
    """Who hears the other, as it was settled last."""
    return {
        request.identity: request.subscribe
        for request in bench.livekit.of("subscriptions")
        if request.track_sids
    }


async def test_a_person_who_presses_1_is_joined_with_the_caller(bench: Bench) -> None:
    bench.voice.on_spoken = bench.press("1")
    await bench.run()
    [dialled] = bench.livekit.of("dial")
    assert (dialled.sip_call_to, dialled.sip_trunk_id) == ("+15550199", "ST_1")
    assert dialled.wait_until_answered
    assert "5550199" not in dialled.participant_identity
    assert heard_by(bench) == {"caller": True, bench.warm.person: True}
    assert not bench.gone


async def test_until_then_neither_hears_the_other(bench: Bench) -> None:
    settled = {}

    def look() -> None:
        settled.update(heard_by(bench))
        settled["permissions"] = bench.room.local_participant.permissions[-1]
        bench.press("1")()

    bench.voice.on_spoken = look
    await bench.run()
    assert settled == {
        "caller": False,
        bench.warm.person: False,
        "permissions": {"caller": ["TR_agent"], bench.warm.person: ["TR_consult"]},
    }


async def test_a_track_that_comes_after_the_answer_is_kept_from_the_caller(bench: Bench) -> None:
    person = participant(bench.warm.person)
    tracks, person.track_publications = person.track_publications, {}
    parted = asyncio.Event()

    async def answer(_: Any) -> None:
        bench.room.join(person)

    async def part(request: Any) -> None:
        if request.track_sids == list(tracks):
            parted.set()

    def come() -> None:
        person.track_publications.update(tracks)
        bench.room.emit("track_published", tracks, person)

    bench.livekit.on_dial, bench.livekit.on_subscriptions = answer, part
    bench.voice.on_spoken = come
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()
    assert parted.is_set()
    assert heard_by(bench) == {"caller": False, bench.warm.person: False}


async def test_they_are_parted_again_in_case_a_telephone_subscribes_late(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consult, "AGAIN_S", (0.0, 0.0, 0.0))
    monkeypatch.setattr(warm_transfer, "ANSWER_S", 60.0)
    often = 2 * len(consult.AGAIN_S)

    async def part(_: Any) -> None:
        if len(bench.livekit.of("subscriptions")) == often:
            bench.press("1")()

    bench.livekit.on_subscriptions = part
    await bench.run()
    told = bench.livekit.of("subscriptions")
    assert [request.subscribe for request in told] == [False] * (len(told) - 2) + [True] * 2


async def test_all_may_hear_all_afterwards(bench: Bench) -> None:
    bench.voice.on_spoken = bench.press("1")
    await bench.run()
    assert bench.room.local_participant.permissions[-1] is None
    assert list(bench.room.local_participant.track_publications) == ["TR_agent"]


async def test_a_person_who_presses_2_is_left_in_peace(bench: Bench) -> None:
    bench.voice.on_spoken = bench.press("2")
    with pytest.raises(TransferFailed, match="declined"):
        await bench.run()
    assert bench.gone
    assert bench.room.local_participant.permissions[-1] is None


async def test_a_machine_presses_nothing_and_gets_no_caller(bench: Bench) -> None:
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()
    assert len(bench.voice.words) == OFFERS
    assert bench.gone


@pytest.mark.parametrize("key", ["5", "#", "*"])
async def test_other_keys_mean_nothing(bench: Bench, key: str) -> None:
    bench.voice.on_spoken = bench.press(key)
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()


async def test_a_key_of_the_caller_accepts_nothing(bench: Bench) -> None:
    bench.voice.on_spoken = lambda: bench.room.press("1", "caller")
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()


async def test_a_person_who_hangs_up_while_asked_has_declined(bench: Bench) -> None:
    bench.voice.on_spoken = lambda: bench.room.leave(bench.warm.person)
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()


async def test_a_person_who_hangs_up_is_noticed_before_the_server_does(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_transfer, "ANSWER_S", 60.0)
    bench.voice.on_spoken = lambda: bench.room.hang_up(bench.warm.person)
    with pytest.raises(TransferFailed, match="no answer"):
        await bench.run()
    assert bench.gone


@pytest.mark.parametrize(
    ("status", "reason"), [("486", "busy"), ("487", "no answer"), ("503", "failed")]
)
async def test_a_call_that_is_not_answered_leaves_nothing_behind(
    bench: Bench, status: str, reason: str
) -> None:
    async def fail(_: Any) -> None:
        raise api.SipCallError("x", "x", status=500, metadata={"sip_status_code": status})

    bench.livekit.on_dial = fail
    with pytest.raises(TransferFailed, match=reason):
        await bench.run()
    assert bench.gone
    assert bench.room.local_participant.permissions[-1] is None
    assert bench.voice.words == []


async def test_a_voice_that_fails_puts_nobody_through(bench: Bench) -> None:
    bench.voice.error = APIConnectionError("gone")
    with pytest.raises(TransferFailed, match="failed"):
        await bench.run()
    assert bench.gone


async def test_a_server_that_cannot_keep_them_apart_puts_nobody_through(bench: Bench) -> None:
    async def fail(_: Any) -> None:
        raise api.ServerError("internal", "x", status=500)

    bench.livekit.on_subscriptions = fail
    with pytest.raises(TransferFailed, match="failed"):
        await bench.run()
    assert bench.gone


async def test_a_caller_who_hangs_up_meanwhile_leaves_nobody_ringing(bench: Bench) -> None:
    ringing = asyncio.Event()

    async def ring(_: Any) -> None:
        ringing.set()
        await asyncio.Event().wait()

    bench.livekit.on_dial = ring
    running = asyncio.create_task(bench.run())
    await asyncio.wait_for(ringing.wait(), 5)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.gone
