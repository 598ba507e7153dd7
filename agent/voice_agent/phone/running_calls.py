"""The telephone calls that are going on, as LiveKit's rooms show them."""

import asyncio
from dataclasses import dataclass
from datetime import UTC, datetime

from livekit import api
from livekit.protocol import models
from livekit.protocol.room import ListRoomsRequest

from voice_agent.phone.dialling import participants
from voice_agent.phone.errors import BadInput

MAX_ASKED_AT_ONCE = 8
"""Rooms whose participants are asked for at the same time."""


@dataclass(frozen=True)
class RunningCall:
    """One telephone in one room."""

    room: str
    direction: str
    """`in` or `out`."""
    number: str
    """The other side's number; empty where it is hidden."""
    status: str
    """`dialing`, `ringing`, `active`, `hangup`, as livekit-sip says it."""
    since: datetime
    has_agent: bool


async def running_calls(client: api.LiveKitAPI) -> list[RunningCall]:
    """Every telephone call of the server, oldest first."""
    rooms = (await client.room.list_rooms(ListRoomsRequest())).rooms
    turn = asyncio.Semaphore(MAX_ASKED_AT_ONCE)

    async def ask(room: str) -> list[RunningCall]:
        async with turn:
            return calls_in(room, await participants(client, room))

    # all of them: the server counts a room's participants only now and then
    found = await asyncio.gather(*(ask(room.name) for room in rooms))
    return sorted((call for calls in found for call in calls), key=lambda call: call.since)


def calls_in(room: str, people: list[models.ParticipantInfo]) -> list[RunningCall]:
    """The telephone calls among a room's participants."""
    has_agent = any(person.kind == models.ParticipantInfo.Kind.AGENT for person in people)
    return [
        RunningCall(
            room=room,
            # only a call that came in was sent here by a rule
            direction="in" if person.attributes.get("sip.ruleID") else "out",
            number=person.attributes.get("sip.phoneNumber", ""),
            status=person.attributes.get("sip.callStatus", "unknown"),
            since=datetime.fromtimestamp(person.joined_at, UTC),
            has_agent=has_agent,
        )
        for person in people
        if person.kind == models.ParticipantInfo.Kind.SIP
    ]


async def require_call(client: api.LiveKitAPI, room: str) -> None:
    """Make sure that a room holds a telephone call.

    Raises:
        BadInput: it does not; the message names the rooms that do.
    """
    if not calls_in(room, await participants(client, room)):
        rooms = ", ".join(call.room for call in await running_calls(client)) or "none"
        raise BadInput(f"no telephone call in room {room!r}; rooms with one: {rooms}")
