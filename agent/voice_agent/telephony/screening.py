"""Calls of ours: greets a person, and leaves a machine the persona's message, or hangs up."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from livekit import rtc
from livekit.agents import AgentSession

from voice_agent.telephony.answer import Answer
from voice_agent.telephony.answer_watch import AnswerWatch
from voice_agent.telephony.call_outcome import OUTCOME_ATTRIBUTE, VOICEMAIL

SEEN_S: Final = 1.5
"""How long the outcome stands in the room before we hang up, seconds: whoever has placed the call
looks twice a second. Source: phone/dialling.py, POLL_S."""

logger = logging.getLogger(__name__)


class Screening:
    """Finds out who has answered.

    Args:
        session: Of the call.
        room: Of the call.
        callee: Who was called.
        message: Left where a machine records; None: nothing.
        on_over: Told that there is nobody to talk to: hang up.
    """

    def __init__(
        self,
        session: AgentSession,
        room: rtc.Room,
        callee: rtc.RemoteParticipant,
        message: str | None,
        on_over: Callable[[], None],
    ) -> None:
        self._session = session
        self._room = room
        self._message = message
        self._on_over = on_over
        self._watch = AnswerWatch(session, callee)
        self._later: asyncio.Task[None] | None = None
        self.is_open = False
        """Whether it is still undecided: nobody is to be answered."""

    async def finds_a_person(self) -> bool:
        """Whether there is somebody to greet, a person or a menu; a machine is dealt with here."""
        self.is_open = True
        self._watch.open()
        try:
            answer = await self._watch.decided()
        finally:
            self.is_open = False
        logger.info("our call was answered", extra={"by": answer.value})
        if answer is not Answer.MACHINE:
            self._later = asyncio.create_task(self._look_again())
            return True
        await self._leave_message()
        return False

    async def aclose(self) -> None:
        """Stop listening."""
        if self._later is not None:
            self._later.cancel()
            await asyncio.gather(self._later, return_exceptions=True)
        await self._watch.aclose()

    async def _look_again(self) -> None:
        if await self._watch.turned_out_a_machine():
            logger.info("our call was answered by a machine after all")
            await self._session.interrupt(force=True)
            await self._leave_message()

    async def _leave_message(self) -> None:
        self.is_open = True
        await self._room.local_participant.set_attributes({OUTCOME_ATTRIBUTE: VOICEMAIL})
        if self._message is None:
            await asyncio.sleep(SEEN_S)
        else:
            await self._watch.recording()
            await self._session.say(self._message, allow_interruptions=False)
        self._on_over()
