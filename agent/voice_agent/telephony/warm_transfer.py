"""A warm transfer: call a person, tell them who is waiting and why, and join the two.

The person takes the call with a key. An answering machine presses none, so it never gets a caller.
"""

import asyncio
import logging
import secrets
from collections.abc import Coroutine
from typing import Final

import aiohttp
from google.protobuf.duration_pb2 import Duration
from livekit import api, rtc
from livekit.agents import APIError, tts

from voice_agent.telephony.caller import has_hung_up
from voice_agent.telephony.consult import Consult
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.phone_spec import TransferSpec
from voice_agent.telephony.transfer import TransferFailed, failure_reason

logger = logging.getLogger(__name__)

ACCEPT: Final = "1"
DECLINE: Final = "2"

OFFERS: Final = 2
"""How often a person is told the summary and asked."""
ANSWER_S: Final = 6.0
"""Wait for a key after each time, seconds."""

_TROUBLE: Final = (api.ServerError, aiohttp.ClientError, TimeoutError)


class WarmTransfer:
    """One attempt to get a person for a caller.

    Args:
        livekit: LiveKit's server API.
        room: The room of the call.
        keys: The keys that come into it.
        caller: Identity of the caller.
    """

    def __init__(self, livekit: api.LiveKitAPI, room: rtc.Room, keys: KeyLine, caller: str) -> None:
        self._livekit = livekit
        self._room = room
        self._keys = keys
        self._caller = caller
        self._gone = asyncio.Event()
        # nobody's number: an identity stands in every log
        self.person: Final = f"person_{secrets.token_hex(4)}"

    async def run(
        self, destination: TransferSpec, trunk_id: str, words: str, voice: tts.TTS
    ) -> None:
        """Call the person and join them with the caller.

        Args:
            destination: Whom to call.
            trunk_id: Outbound trunk to call through.
            words: Said to the person: the summary, and how to take the call.
            voice: Speaks to the person.

        Raises:
            TransferFailed: nobody took the call; the person is out of the room again.
        """
        consult = Consult(self._livekit.room, self._room, self._caller, self.person)
        joined = False
        self._room.on("participant_disconnected", self._on_left)
        self._room.on("participant_attributes_changed", self._on_attributes)
        try:
            async with consult:
                await self._call(destination, trunk_id, consult)
                await self._offer(consult, words, voice)
                await consult.join()
                joined = True
        except _TROUBLE as error:
            raise TransferFailed(failure_reason(error)) from None
        except APIError as error:
            logger.warning("nothing said to the person", extra={"error": type(error).__name__})
            raise TransferFailed("failed") from None
        finally:
            self._room.off("participant_disconnected", self._on_left)
            self._room.off("participant_attributes_changed", self._on_attributes)
            if not joined:
                await self._send_away()

    async def _call(self, destination: TransferSpec, trunk_id: str, consult: Consult) -> None:
        request = api.CreateSIPParticipantRequest(
            sip_trunk_id=trunk_id,
            sip_call_to=destination.number,
            room_name=self._room.name,
            participant_identity=self.person,
            participant_name="colleague",
            hide_phone_number=True,
            wait_until_answered=True,
            ringing_timeout=Duration(seconds=round(destination.ringing_s)),
        )
        await self._livekit.sip.create_sip_participant(request)
        await consult.keep_apart()

    async def _offer(self, consult: Consult, words: str, voice: tts.TTS) -> None:
        pressed: asyncio.Future[str] = asyncio.get_running_loop().create_future()

        def on_key(key: str) -> None:
            if key in (ACCEPT, DECLINE) and not pressed.done():
                pressed.set_result(key)
                consult.hush()

        with self._keys.listening(self.person, on_key):
            answer = await self._answer(self._ask(consult, words, voice, pressed))
        if answer is None:
            raise TransferFailed("no answer")
        if answer == DECLINE:
            raise TransferFailed("declined")

    async def _ask(
        self, consult: Consult, words: str, voice: tts.TTS, pressed: asyncio.Future[str]
    ) -> str | None:
        for _ in range(OFFERS):
            speaking = asyncio.ensure_future(consult.say(words, voice))
            try:
                await asyncio.wait((speaking, pressed), return_when=asyncio.FIRST_COMPLETED)
                if not pressed.done():
                    await speaking
                    await asyncio.wait((pressed,), timeout=ANSWER_S)
            finally:
                speaking.cancel()
                await asyncio.gather(speaking, return_exceptions=True)
            if pressed.done():
                return pressed.result()
        return None

    async def _answer(self, asking: Coroutine[None, None, str | None]) -> str | None:
        """What the person answers; None where they hang up as well."""
        asked = asyncio.ensure_future(asking)
        left = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait((asked, left), return_when=asyncio.FIRST_COMPLETED)
            return asked.result() if asked.done() else None
        finally:
            for task in (asked, left):
                task.cancel()
            await asyncio.gather(asked, left, return_exceptions=True)

    async def _send_away(self) -> None:
        request = api.RoomParticipantIdentity(room=self._room.name, identity=self.person)
        try:
            await self._livekit.room.remove_participant(request)
        except _TROUBLE as error:
            # most often because they are not there
            logger.debug("person not removed", extra={"error": type(error).__name__})

    def _on_left(self, participant: rtc.RemoteParticipant) -> None:
        if participant.identity == self.person:
            self._gone.set()

    def _on_attributes(self, _: dict[str, str], participant: rtc.RemoteParticipant) -> None:
        if has_hung_up(participant):
            self._on_left(participant)
