"""A caller on the telephone: is greeted, asks, listens."""

import time
from collections.abc import Awaitable, Callable
from typing import Final

from bench.call.caller import ANSWER_LIMIT_S
from bench.call.sayings import Saying
from bench.call.track import Heard, hear_turn
from bench.phone.records import PhoneCall
from bench.phone.sip_call import PhoneCallFailed
from bench.phone.stack import HERE
from bench.phone.telephone import Telephone, telephone
from voice_agent.caller.microphone import Spoken

OVER_S: Final = 1.0
"""Silence after which an answer is over: a telephone is told no state. Longer than any of the
voice's own within the bench's answers."""
_GREETING_LIMIT_S: Final = 15.0
_OVER_LIMIT_S: Final = 20.0


class PhoneCaller:
    """A caller whose call has been answered and greeted."""

    def __init__(self, phone: Telephone) -> None:
        self.phone = phone

    async def ask(self, saying: Saying) -> tuple[Heard, Spoken]:
        """Take a turn and listen to the whole answer.

        Args:
            saying: as `narrowband.for_the_line` makes it.

        Raises:
            PhoneCallFailed: the line was lost.
        """
        began_s = time.monotonic()
        spoken = await self._speak(saying)
        await self.phone.wait_until(self._silent, _OVER_LIMIT_S)
        return hear_turn(self.phone.ear.sounds, (), began_s, spoken.ended_s), spoken

    async def ask_for(self, saying: Saying, listen_s: float) -> tuple[Heard, Spoken]:
        """Take a turn and listen to so much of a long answer.

        Raises:
            PhoneCallFailed: the line was lost.
        """
        began_s = time.monotonic()
        spoken = await self._speak(saying)
        heard = hear_turn(self.phone.ear.sounds, (), began_s, spoken.ended_s)
        until_s = time.monotonic() + listen_s
        await self.phone.wait_until(
            lambda: self.phone.over or time.monotonic() > until_s, 2 * listen_s
        )
        return heard, spoken

    async def greeted(self) -> None:
        """Hear the whole greeting.

        Raises:
            PhoneCallFailed: there is none.
        """
        phone = self.phone
        await phone.wait_until(lambda: bool(phone.ear.sounds) or phone.over, _GREETING_LIMIT_S)
        if not phone.ear.sounds:
            raise PhoneCallFailed("answered, but nobody spoke")
        await phone.wait_until(self._silent, _OVER_LIMIT_S)

    async def _speak(self, saying: Saying) -> Spoken:
        """Say it, and wait for the first sound of the answer."""
        phone = self.phone
        if phone.over:
            raise PhoneCallFailed("the agent hung up")
        try:
            spoken = await phone.microphone.speak(saying.utterance)
        except ConnectionError as error:
            raise PhoneCallFailed(f"the line was lost: {error}") from None
        await phone.wait_until(
            lambda: phone.ear.audible_after(spoken.ended_s) or phone.over, ANSWER_LIMIT_S
        )
        return spoken

    def _silent(self) -> bool:
        return self.phone.over or self.phone.ear.silent_for_s(time.monotonic()) >= OVER_S


async def phone_call(
    caller: str, callee: str, server: str, talk: Callable[[PhoneCaller], Awaitable[None]]
) -> PhoneCall:
    """Make a call and hang up; what goes wrong with it is noted.

    Args:
        caller: our number.
        callee: the number that is called.
        server: livekit-sip, `HOST:PORT`.
        talk: what is done once the call is answered, and before the greeting is heard.

    Raises:
        OSError: no socket can be had.
    """
    record = PhoneCall()
    async with telephone(HERE, caller) as phone:
        try:
            await phone.dial(callee, server)
            await talk(PhoneCaller(phone))
        except PhoneCallFailed as error:
            record.failure = str(error)
        await phone.hang_up()
        _note(record, phone)
    return record


def _note(record: PhoneCall, phone: Telephone) -> None:
    call, counted = phone.call, phone.reception
    record.sent, record.received, record.lost = phone.sent, counted.received, counted.lost
    if call is None or call.invited_s is None:
        return
    record.call_id = call.call_id
    if call.answered_s is not None:
        record.answer_s = call.answered_s - call.invited_s
    if phone.ear.sounds:
        record.first_word_s = phone.ear.sounds[0].start_s - call.invited_s
