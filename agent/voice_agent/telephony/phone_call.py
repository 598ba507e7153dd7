"""The telephone side of one call: what its keys mean, where it may go, and who is on the line."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import date
from typing import Any, Final

import aiohttp
from livekit import api, rtc
from livekit.agents import AgentSession, JobContext
from livekit.protocol.sip import ListSIPOutboundTrunkRequest

from voice_agent.telephony.call_outcome import DO_NOT_CALL, OUTCOME_ATTRIBUTE
from voice_agent.telephony.caller import PhoneCaller, has_hung_up
from voice_agent.telephony.card_capture import CaptureFailed, CardCapture, StoredCard
from voice_agent.telephony.hold import Hold
from voice_agent.telephony.key_input import KeyInput
from voice_agent.telephony.key_line import KeyLine
from voice_agent.telephony.key_sender import send_keys
from voice_agent.telephony.phone_spec import PhoneSpec, TransferSpec
from voice_agent.telephony.redaction import redact
from voice_agent.telephony.screening import Screening
from voice_agent.telephony.tokeniser import Tokeniser
from voice_agent.telephony.transfer import TransferFailed, cold_transfer
from voice_agent.telephony.warm_transfer import WarmTransfer

logger = logging.getLogger(__name__)

MAX_TRANSFERS: Final = 4
"""Attempts in one call; each rings a telephone and may cost money."""
LEAVE_S: Final = 3.0
"""Wait for a caller to leave once their carrier has taken the transfer; livekit-sip hangs up after
one second by itself. Source: livekit/sip v1.8.0, pkg/sip/inbound.go, referByeTimeout."""


class PhoneCall:
    """Implements `tools.definition.PhoneLine`.

    Args:
        job: Of the call.
        caller: Who is on the line.
        spec: The persona's telephone side.
        on_text: Told what the caller's keys say.
        on_begin: Told the caller has begun to press keys.
        on_over: Told that a caller who was joined with a person, or the person, has hung up.
        trunk_id: Outbound trunk of warm transfers; None: the server's only one.
        tokeniser: Where cards go; None: no cards are taken.
    """

    def __init__(
        self,
        job: JobContext,
        caller: PhoneCaller,
        spec: PhoneSpec,
        *,
        on_text: Callable[[str], None],
        on_begin: Callable[[], None],
        on_over: Callable[[], None],
        trunk_id: str | None = None,
        tokeniser: Tokeniser | None = None,
    ) -> None:
        self._job = job
        self._room: rtc.Room = job.room
        self.caller: Final = caller
        self._spec = spec
        self._on_over = on_over
        self._trunk_id = trunk_id
        self._tokeniser = tokeniser
        self._keys = KeyLine(self._room)
        self._input = KeyInput(spec.keys, on_begin, on_text)
        self._listening = self._keys.listening(caller.identity, self._on_key)
        self._working: asyncio.Task[Any] | None = None
        self._joined_with: str | None = None
        self._screening: Screening | None = None
        self._transfers = 0
        self._over = False
        """Whether `on_over` has been told."""

    @property
    def is_waiting(self) -> bool:
        """Whether silence means nothing: on hold, keying in a card, with a person, a machine."""
        return self._working is not None or self._joined_with is not None or self.is_screening

    @property
    def is_screening(self) -> bool:
        """Whether it is not known yet who has answered a call of ours: nothing is to be said."""
        return self._screening is not None and self._screening.is_open

    @property
    def takes_cards(self) -> bool:
        """Whether there is somewhere for a card to go."""
        return self._tokeniser is not None

    def open(self) -> None:
        """Begin to listen to keys."""
        self._keys.open()
        self._listening.__enter__()

    async def aclose(self) -> None:
        """Stop listening, and whatever is going on."""
        self._keys.close()
        self._input.drop()
        self._room.off("participant_disconnected", self._on_left)
        self._room.off("participant_attributes_changed", self._on_attributes)
        if self._screening is not None:
            await self._screening.aclose()
        working = self._working
        if working is not None and working is not asyncio.current_task():
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    async def press(self, row: str) -> None:
        """Press checked keys for the agent.

        Raises:
            livekit.rtc.participant.PublishDTMFError: the room does not take them.
        """
        await send_keys(self._room, row)

    async def refuse_calls(self) -> None:
        """Note that who is on the line must not be called again; a campaign reads it."""
        await self._room.local_participant.set_attributes({OUTCOME_ATTRIBUTE: DO_NOT_CALL})

    async def transfer(self, session: AgentSession, name: str, summary: str) -> None:
        """Put the caller through; returns once they are where they wanted to be.

        Args:
            session: Of the call.
            name: Of a destination in the persona file.
            summary: What a person is told before they take a warm transfer.

        Raises:
            KeyError: the persona has no such destination.
            TransferFailed: the caller is still here, and has been told so.
        """
        destination = self._spec.transfers[name]
        async with self._alone(TransferFailed("failed")):
            try:
                self._transfers += 1
                if self._transfers > MAX_TRANSFERS:
                    raise TransferFailed("too often")
                async with Hold(session, self._spec.transfer_words):
                    if destination.how == "cold":
                        await self._transfer_cold(destination)
                    else:
                        await self._transfer_warm(session, destination, summary)
            except TransferFailed as failure:
                logger.info("transfer failed", extra={"to": name, "reason": failure.reason})
                await self._say(session, self._spec.transfer_failed_words)
                raise
        logger.info("transferred", extra={"to": name, "how": destination.how})
        if destination.how == "warm":
            session.input.set_audio_enabled(False)
            await self._say(session, self._spec.connected_words)

    async def greet_whom(self, session: AgentSession) -> bool:
        """Find out who has answered a call of ours; whether there is somebody to greet.

        A machine gets the persona's message, or nothing, and `on_over` is told. A caller who called
        us is there.
        """
        callee = self._room.remote_participants.get(self.caller.identity)
        if not self.caller.we_called or callee is None:
            return True
        self._screening = Screening(
            session, self._room, callee, self._spec.voicemail_message, self._on_over
        )
        return await self._screening.finds_a_person()

    async def take_card(self, session: AgentSession, today: date) -> StoredCard:
        """Take a card by keys alone.

        Raises:
            CaptureFailed: there is none.
        """
        if self._tokeniser is None:
            raise CaptureFailed("refused")
        if len(self._room.remote_participants) > 1:
            # every participant of a room gets every key
            raise CaptureFailed("not alone")
        self._input.drop()
        async with self._alone(CaptureFailed("not alone")):
            capture = CardCapture(session, self._keys, self.caller.identity, self._tokeniser)
            return await capture.run(today)

    async def _transfer_cold(self, destination: TransferSpec) -> None:
        left = asyncio.Event()

        def on_left(participant: rtc.RemoteParticipant) -> None:
            if participant.identity == self.caller.identity:
                left.set()

        self._room.on("participant_disconnected", on_left)
        try:
            await cold_transfer(
                self._job.api.sip, self._room.name, self.caller.identity, destination
            )
            await asyncio.wait_for(left.wait(), LEAVE_S)
        except TimeoutError:
            logger.warning("the carrier took the transfer and did not hang up")
        finally:
            self._room.off("participant_disconnected", on_left)

    async def _transfer_warm(
        self, session: AgentSession, destination: TransferSpec, summary: str
    ) -> None:
        voice = session.tts
        trunk_id = self._trunk_id or await self._only_trunk()
        if voice is None or trunk_id is None:
            logger.error("a warm transfer needs an outbound trunk: set PARLEY_PHONE_TRUNK")
            raise TransferFailed("not allowed")
        warm = WarmTransfer(self._job.api, self._room, self._keys, self.caller.identity)
        words = f"{redact(summary)} {self._spec.offer_words}".strip()
        await warm.run(destination, trunk_id, words, voice)
        self._room.on("participant_disconnected", self._on_left)
        self._room.on("participant_attributes_changed", self._on_attributes)
        if warm.person not in self._room.remote_participants:
            raise TransferFailed("no answer")  # gone in the moment of joining
        self._joined_with = warm.person

    async def _only_trunk(self) -> str | None:
        try:
            trunks = await self._job.api.sip.list_outbound_trunk(ListSIPOutboundTrunkRequest())
        except (api.ServerError, aiohttp.ClientError, TimeoutError) as error:
            logger.warning("trunks not listed", extra={"error": type(error).__name__})
            return None
        return trunks.items[0].sip_trunk_id if len(trunks.items) == 1 else None

    async def _say(self, session: AgentSession, words: str) -> None:
        # not for the model, whose tool call has no result yet
        await session.say(words, allow_interruptions=False, add_to_chat_ctx=False)

    @asynccontextmanager
    async def _alone(self, otherwise: Exception) -> AsyncIterator[None]:
        """One thing at a time, which `aclose` ends; raises `otherwise` for a second one."""
        if self.is_waiting:
            raise otherwise
        self._working = asyncio.current_task()
        try:
            yield
        finally:
            self._working = None

    def _on_key(self, key: str) -> None:
        if not self.is_waiting:
            self._input.press(key)

    def _on_left(self, participant: rtc.RemoteParticipant) -> None:
        if not self._over and participant.identity in (self._joined_with, self.caller.identity):
            self._over = True
            self._on_over()

    def _on_attributes(self, _: dict[str, str], participant: rtc.RemoteParticipant) -> None:
        if has_hung_up(participant):
            self._on_left(participant)
