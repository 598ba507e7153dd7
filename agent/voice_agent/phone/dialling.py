"""Places one outgoing call: a room, the telephone in it, then the agent.

The agent is dispatched when the call is answered, not before: an agent that talks into a ringing
telephone says its disclosure to nobody, and most calls of a campaign are never answered. It costs
the dispatch, some tens of milliseconds, at the moment in which a person lifts a receiver.
"""

import asyncio
import logging
import secrets
from dataclasses import dataclass, replace

import aiohttp
from google.protobuf.duration_pb2 import Duration
from livekit import api
from livekit.protocol import models
from livekit.protocol.agent_dispatch import CreateAgentDispatchRequest
from livekit.protocol.room import CreateRoomRequest, DeleteRoomRequest, ListParticipantsRequest
from livekit.protocol.sip import CreateSIPParticipantRequest

from voice_agent.phone.errors import BadInput
from voice_agent.phone.livekit_service import clear_errors, refusal
from voice_agent.phone.outcome import Outcome, outcome_of
from voice_agent.telephony.call_outcome import OUTCOME_ATTRIBUTE

logger = logging.getLogger(__name__)

ROOM_PREFIX = "phone-"
"""First part of the rooms of outgoing calls; the rest is random, not the number."""

CALLEE = "callee"
"""Identity of who is called; a number would stand in every log."""

AGENT_WAIT_S = 5.0
"""How long somebody on the telephone waits for an agent before we hang up, seconds."""

POLL_S = 0.5
"""Time between two looks at a call, seconds."""

MAX_PARTICIPANTS = 4
"""Who is called, the agent, a person who takes over, a supervisor."""


@dataclass(frozen=True)
class CallPlan:
    """What is the same for every call of one command."""

    trunk_id: str
    agent_name: str
    metadata: str
    """Dispatch metadata, see `voice_agent.phone.desired.dispatch_metadata`."""
    ringing_s: int = 30
    """Longest ringing, seconds."""
    max_call_s: int = 1800
    """Longest call, seconds."""


@dataclass(frozen=True)
class CallResult:
    """How a call ended, or that it was answered and goes on."""

    outcome: Outcome
    sip_status: int | None = None
    """Final SIP status, where the provider sent one."""
    room: str = ""
    """LiveKit room of a call that goes on."""


class LiveKitDialler:
    """Calls through livekit-sip.

    Args:
        client: LiveKit's API.
        place: host and port of LiveKit, for errors.
        plan: what is the same for every call.
    """

    def __init__(self, client: api.LiveKitAPI, place: str, plan: CallPlan) -> None:
        self._client = client
        self._place = place
        self._plan = plan

    async def dial(self, number: str) -> CallResult:
        """Call a number and let the agent talk; return when the call has ended.

        Raises:
            PhoneError: LiveKit or the bridge refused before a telephone rang.
        """
        placed = await self.place(number)
        if placed.outcome is not Outcome.ANSWERED:
            return placed
        outcome = Outcome.INTERRUPTED
        try:
            outcome = await self.wait_until_ended(placed.room)
        except _LOST as error:
            logger.warning("lost sight of a call", extra={"error": type(error).__name__})
        finally:
            if outcome is Outcome.INTERRUPTED:
                await self._end_surely(placed.room)
        return replace(placed, outcome=outcome)

    async def place(self, number: str) -> CallResult:
        """Call a number; return when it is answered and the agent is there, or has failed.

        Whatever happens, also when this is cancelled, no room or ringing telephone is left.

        Raises:
            PhoneError: LiveKit or the bridge refused before a telephone rang.
        """
        plan, room = self._plan, f"{ROOM_PREFIX}{secrets.token_hex(8)}"
        with clear_errors(self._place):
            await self._client.room.create_room(
                CreateRoomRequest(
                    name=room,
                    empty_timeout=plan.ringing_s + int(AGENT_WAIT_S) + 5,
                    departure_timeout=5,
                    max_participants=MAX_PARTICIPANTS,
                )
            )
        answered, maybe_ringing = False, True
        try:
            await self._ring(number, room)
            await self._client.agent_dispatch.create_dispatch(
                CreateAgentDispatchRequest(
                    agent_name=plan.agent_name, room=room, metadata=plan.metadata
                )
            )
            answered = await self._agent_comes(room)
            return CallResult(Outcome.ANSWERED if answered else Outcome.NO_AGENT, 200, room)
        except api.ServerError as error:
            maybe_ringing = False
            failed = outcome_of(error)
            if failed is None:
                raise refusal(error, self._place) from error
            return CallResult(*failed)
        except (aiohttp.ClientError, TimeoutError) as error:
            logger.warning("lost sight of a call", extra={"error": type(error).__name__})
            return CallResult(Outcome.INTERRUPTED)
        finally:
            if not answered:
                await self._end_surely(room, ringing=maybe_ringing)

    async def wait_until_ended(self, room: str) -> Outcome:
        """Wait until nobody is on the telephone, or no agent is; return how it ended."""
        outcome = Outcome.ANSWERED
        alone = 0
        while alone < AGENT_WAIT_S / POLL_S:
            people = await participants(self._client, room)
            telephones = sum(person.kind == _SIP for person in people)
            if not telephones:
                break
            agents = [person for person in people if person.kind == _AGENT]
            for agent in agents:
                outcome = _learnt(agent) or outcome
            # an agent that crashed is replaced, and two people talk without one; else it is silence
            alone = 0 if agents or telephones > 1 else alone + 1
            await asyncio.sleep(POLL_S)
        await hang_up(self._client, room)
        return outcome

    async def _ring(self, number: str, room: str) -> None:
        plan = self._plan
        await self._client.sip.create_sip_participant(
            CreateSIPParticipantRequest(
                sip_trunk_id=plan.trunk_id,
                sip_call_to=number,
                room_name=room,
                participant_identity=CALLEE,
                participant_name=CALLEE,
                ringing_timeout=Duration(seconds=plan.ringing_s),
                max_call_duration=Duration(seconds=plan.max_call_s),
                wait_until_answered=True,
            ),
            timeout=plan.ringing_s + AGENT_WAIT_S,
        )

    async def _agent_comes(self, room: str) -> bool:
        for _ in range(round(AGENT_WAIT_S / POLL_S)):
            if any(person.kind == _AGENT for person in await participants(self._client, room)):
                return True
            await asyncio.sleep(POLL_S)
        return False

    async def _end_surely(self, room: str, *, ringing: bool = False) -> None:
        """Hang up, even while we are being cancelled ourselves."""
        await asyncio.shield(self._end(room, ringing))

    async def _end(self, room: str, ringing: bool) -> None:
        try:
            await hang_up(self._client, room)
            if ringing:
                # the bridge may have been about to join, which makes the room anew
                await asyncio.sleep(POLL_S)
                await hang_up(self._client, room)
        except _LOST as error:
            logger.warning("room not deleted", extra={"room": room, "error": type(error).__name__})


async def hang_up(client: api.LiveKitAPI, room: str) -> None:
    """Delete a room, which ends its calls; one that is gone already is fine."""
    try:
        await client.room.delete_room(DeleteRoomRequest(room=room))
    except api.ServerError as error:
        if error.code != "not_found":
            raise


async def participants(client: api.LiveKitAPI, room: str) -> list[models.ParticipantInfo]:
    """Who is in a room; nobody where there is none."""
    try:
        answer = await client.room.list_participants(ListParticipantsRequest(room=room))
    except api.ServerError as error:
        if error.code == "not_found":
            return []
        raise
    return list(answer.participants)


async def outbound_trunk_id(client: api.LiveKitAPI, name: str | None) -> str:
    """The id of an outbound trunk.

    Args:
        client: LiveKit's API.
        name: the trunk's name; None: the only one that there is.

    Raises:
        BadInput: there is none of this name, or no single one.
    """
    answer = await client.sip.list_outbound_trunk(api.ListSIPOutboundTrunkRequest())
    trunks = [trunk for trunk in answer.items if name is None or trunk.name == name]
    if len(trunks) == 1:
        return trunks[0].sip_trunk_id
    known = ", ".join(sorted(trunk.name or trunk.sip_trunk_id for trunk in answer.items))
    if not known:
        raise BadInput(
            "there is no outbound trunk", "Write one down and run: parley phone apply trunks.yaml"
        )
    if name is None:
        raise BadInput(f"there are several outbound trunks: {known}", "Choose one with --trunk.")
    raise BadInput(f"there is no single outbound trunk {name!r}; there are: {known}")


_LOST = (api.ServerError, aiohttp.ClientError, TimeoutError)
_SIP = models.ParticipantInfo.Kind.SIP
_AGENT = models.ParticipantInfo.Kind.AGENT


def _learnt(agent: models.ParticipantInfo) -> Outcome | None:
    """What the agent says of who answered; nothing but the two words that it may say."""
    said = agent.attributes.get(OUTCOME_ATTRIBUTE)
    known = (Outcome.DO_NOT_CALL, Outcome.VOICEMAIL)
    return next((outcome for outcome in known if outcome == said), None)
