"""One call against a LiveKit of our own: what is left behind, whatever happens."""

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import aiohttp
import pytest
from livekit import api
from livekit.protocol import models

from voice_agent.phone import dialling
from voice_agent.phone.dialling import CallPlan, LiveKitDialler
from voice_agent.phone.errors import NotConnected, ServiceTrouble
from voice_agent.phone.outcome import Outcome
from voice_agent.phone.running_calls import calls_in
from voice_agent.telephony.call_outcome import OUTCOME_ATTRIBUTE

NUMBER = "+15550142"
PLAN = CallPlan(trunk_id="ST_1", agent_name="parley", metadata="{}")
SIP, AGENT = models.ParticipantInfo.Kind.SIP, models.ParticipantInfo.Kind.AGENT


def person(kind: Any, **attributes: str) -> models.ParticipantInfo:
    return models.ParticipantInfo(kind=kind, attributes=attributes)


CALLEE, ASSISTANT = person(SIP), person(AGENT)


class LiveKit:
    """Stands in for LiveKit's API: remembers rooms, answers as told."""

    def __init__(self) -> None:
        self.rooms: set[str] = set()
        self.dispatched: list[Any] = []
        self.calls: list[Any] = []
        self.ring_error: BaseException | None = None
        self.create_error: BaseException | None = None
        self.rings = asyncio.Event()
        self.answered: asyncio.Event | None = None
        self.people: list[Sequence[models.ParticipantInfo]] = []
        """Who is in the room at each look, the last one from then on."""

        client = SimpleNamespace(room=self, sip=self, agent_dispatch=self)
        self.dialler = LiveKitDialler(client, "livekit:7880", PLAN)  # type: ignore[arg-type]

    async def create_room(self, request: Any) -> None:
        if self.create_error:
            raise self.create_error
        self.rooms.add(request.name)

    async def delete_room(self, request: Any) -> None:
        if request.room not in self.rooms:
            raise api.ServerError("not_found", "no room", status=404)
        self.rooms.remove(request.room)

    async def create_sip_participant(self, request: Any, *, timeout: float) -> None:
        self.calls.append(request)
        self.rings.set()
        if self.answered is not None:
            await self.answered.wait()
        if self.ring_error:
            raise self.ring_error

    async def create_dispatch(self, request: Any) -> None:
        self.dispatched.append(request)

    async def list_participants(self, request: Any) -> Any:
        people = self.people.pop(0) if len(self.people) > 1 else self.people[0]
        return SimpleNamespace(participants=people)


@pytest.fixture
async def livekit(monkeypatch: pytest.MonkeyPatch) -> LiveKit:
    monkeypatch.setattr(dialling, "POLL_S", 0.001)
    monkeypatch.setattr(dialling, "AGENT_WAIT_S", 0.01)
    return LiveKit()


async def test_the_agent_comes_once_it_is_answered(livekit: LiveKit) -> None:
    livekit.people = [[CALLEE], [CALLEE, ASSISTANT]]
    placed = await livekit.dialler.place(NUMBER)
    assert placed.outcome is Outcome.ANSWERED
    assert livekit.rooms == {placed.room}
    (call,), (dispatch,) = livekit.calls, livekit.dispatched
    assert call.wait_until_answered
    assert (call.sip_call_to, call.sip_trunk_id) == (NUMBER, "ST_1")
    assert NUMBER not in placed.room + call.participant_identity + call.participant_name
    assert (dispatch.room, dispatch.agent_name) == (placed.room, "parley")


async def test_the_room_goes_when_the_telephone_does(livekit: LiveKit) -> None:
    livekit.people = [[CALLEE, ASSISTANT], [CALLEE, ASSISTANT], [ASSISTANT]]
    result = await livekit.dialler.dial(NUMBER)
    assert result.outcome is Outcome.ANSWERED
    assert livekit.rooms == set()


@pytest.mark.parametrize("learnt", [Outcome.DO_NOT_CALL, Outcome.VOICEMAIL])
async def test_what_the_agent_learnt(livekit: LiveKit, learnt: Outcome) -> None:
    knows = person(AGENT, **{OUTCOME_ATTRIBUTE: learnt.value})
    livekit.people = [[CALLEE, ASSISTANT], [CALLEE, knows], [CALLEE, ASSISTANT], []]
    assert (await livekit.dialler.dial(NUMBER)).outcome is learnt


async def test_an_agent_cannot_say_just_anything(livekit: LiveKit) -> None:
    odd = person(AGENT, **{OUTCOME_ATTRIBUTE: "busy"})
    livekit.people = [[CALLEE, odd], [CALLEE, odd], []]
    assert (await livekit.dialler.dial(NUMBER)).outcome is Outcome.ANSWERED


async def test_nobody_waits_for_an_agent_that_never_comes(livekit: LiveKit) -> None:
    livekit.people = [[CALLEE]]
    assert (await livekit.dialler.dial(NUMBER)).outcome is Outcome.NO_AGENT
    assert livekit.rooms == set()


async def test_two_people_who_were_put_through_go_on_without_an_agent(livekit: LiveKit) -> None:
    pair = [CALLEE, CALLEE]
    livekit.people = [[CALLEE, ASSISTANT], *([pair] * 50), []]
    await livekit.dialler.dial(NUMBER)
    assert len(livekit.people) == 1


async def test_nobody_is_left_alone_by_an_agent_that_leaves(livekit: LiveKit) -> None:
    livekit.people = [[CALLEE, ASSISTANT], [CALLEE, ASSISTANT], [CALLEE]]
    assert (await livekit.dialler.dial(NUMBER)).outcome is Outcome.ANSWERED
    assert livekit.rooms == set()


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (
            api.SipCallError("x", "y", status=429, metadata={"sip_status_code": "486"}),
            Outcome.BUSY,
        ),
        (api.ServerError("canceled", "timed out", status=408), Outcome.NO_ANSWER),
        (aiohttp.ServerDisconnectedError(), Outcome.INTERRUPTED),
        (TimeoutError(), Outcome.INTERRUPTED),
    ],
)
async def test_a_call_that_fails_leaves_no_room(
    livekit: LiveKit, error: Exception, outcome: Outcome
) -> None:
    livekit.ring_error = error
    assert (await livekit.dialler.dial(NUMBER)).outcome is outcome
    assert livekit.rooms == set()
    assert livekit.dispatched == []


async def test_a_missing_bridge_is_no_failed_call(livekit: LiveKit) -> None:
    livekit.ring_error = api.ServerError("unavailable", "no response from servers", status=503)
    with pytest.raises(NotConnected, match="no telephone bridge"):
        await livekit.dialler.dial(NUMBER)
    livekit.ring_error = api.ServerError("unauthenticated", "", status=401)
    with pytest.raises(ServiceTrouble, match="API key"):
        await livekit.dialler.dial(NUMBER)
    assert livekit.rooms == set()


async def test_a_server_that_is_gone_before_the_call(livekit: LiveKit) -> None:
    livekit.create_error = aiohttp.ClientConnectionError("refused")
    with pytest.raises(NotConnected, match="cannot be reached"):
        await livekit.dialler.dial(NUMBER)


async def test_cancelling_stops_the_ringing(livekit: LiveKit) -> None:
    livekit.answered = asyncio.Event()
    task = asyncio.create_task(livekit.dialler.dial(NUMBER))
    await livekit.rings.wait()
    assert len(livekit.rooms) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert livekit.rooms == set()


def test_running_calls_are_told_apart() -> None:
    inbound = person(SIP, **{"sip.ruleID": "SDR_1", "sip.phoneNumber": NUMBER})
    ours = person(SIP, **{"sip.callStatus": "active"})
    browser = models.ParticipantInfo()
    assert calls_in("room", [browser, ASSISTANT]) == []
    (first,) = calls_in("room", [inbound, browser])
    assert (first.direction, first.number, first.has_agent) == ("in", NUMBER, False)
    (second,) = calls_in("room", [ours, ASSISTANT])
    assert (second.direction, second.status, second.has_agent) == ("out", "active", True)
