"""The same words said by telephone and through WebRTC, to the same agent."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from bench.call.caller import calling
from bench.call.sayings import Saying
from bench.call.track import Heard
from bench.phone.caller import PhoneCaller, phone_call
from bench.phone.lines import CONVERSATION
from bench.phone.narrowband import for_the_line
from bench.phone.records import BROWSER, PHONE, PathTurn, PhoneCall
from bench.phone.stack import SHORT_NUMBER, CalledStack
from bench.phone.words import Listener, listening

_NUMBER: Final = "+15550120"
_ROOM_LIMIT_S: Final = 10.0
"""Longest wait for a call's room to go; the next call begins all the same."""


class BothPaths:
    """Calls one and the same stack on either path.

    Args:
        stack: who is called.
        turns: where every turn is noted.
    """

    def __init__(self, stack: CalledStack, turns: list[PathTurn]) -> None:
        self._stack, self._turns = stack, turns

    async def by_phone(self, script: Sequence[Saying]) -> PhoneCall:
        """One telephone call; what goes wrong is in its record."""
        known = frozenset(await self._stack.phones.rooms())

        async def talk(caller: PhoneCaller) -> None:
            await caller.greeted()
            async with listening(self._stack.phones, known) as listener:
                for saying in script:
                    began_s = time.monotonic()
                    heard, spoken = await caller.ask(for_the_line(saying))
                    await self._take(PHONE, saying, heard, spoken.late_s, listener, began_s)

        call = await phone_call(_NUMBER, SHORT_NUMBER, self._stack.address, talk)
        await self._until_rooms_are_gone()
        return call

    async def by_browser(self, script: Sequence[Saying]) -> None:
        """One call as a browser makes it.

        Raises:
            CallFailed: it was not answered, or broke off.
        """
        known = frozenset(await self._stack.phones.rooms())
        async with (
            calling(self._stack.browser_ticket()) as caller,
            listening(self._stack.phones, known) as listener,
        ):
            for saying in script:
                began_s = time.monotonic()
                turn = await caller.ask(saying)
                await self._take(BROWSER, saying, turn.heard, turn.caller_late_s, listener, began_s)
        await self._until_rooms_are_gone()

    async def _take(
        self,
        path: str,
        saying: Saying,
        heard: Heard,
        late_s: float,
        listener: Listener,
        began_s: float,
    ) -> None:
        understood, stages = await listener.understood(began_s)
        self._turns.append(
            PathTurn(
                path=path,
                name=saying.utterance.name,
                conversation=saying.kind == CONVERSATION,
                said=saying.utterance.text,
                understood=understood,
                voice_to_voice_s=heard.voice_to_voice_s,
                cut_off=heard.cut_off,
                caller_late_s=late_s,
                stages=stages,
            )
        )

    async def _until_rooms_are_gone(self) -> None:
        """The agent's process ends beside the next call otherwise."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_ROOM_LIMIT_S):
                await self._stack.phones.until_no_room_is_left()
