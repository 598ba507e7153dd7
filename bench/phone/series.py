"""Calls one after another, and in the same moment: what they lose and what they leave behind."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from bench.call.sayings import Saying
from bench.phone.caller import PhoneCaller, phone_call
from bench.phone.leftovers import left, settled
from bench.phone.records import PhoneCall, Series
from bench.phone.sip_statistics import packets_received
from bench.phone.stack import SHORT_NUMBER, CalledStack

_BETWEEN_S: Final = 0.5


async def in_a_row(stack: CalledStack, calls: int) -> Series:
    """Calls one after another, each of which hears the greeting."""

    async def talk(caller: PhoneCaller) -> None:
        await caller.greeted()

    async def every() -> list[PhoneCall]:
        made = []
        for number in range(calls):
            made.append(await _call(stack, number, talk))
            await asyncio.sleep(_BETWEEN_S)
        return made

    return await _counted(stack, every)


async def at_once(stack: CalledStack, calls: int, saying: Saying) -> Series:
    """Calls begun in the same moment, each of which hears the greeting and asks something.

    Args:
        stack: who is called.
        calls: how many.
        saying: what each caller asks, as `narrowband.for_the_line` makes it.
    """

    async def talk(caller: PhoneCaller) -> None:
        await caller.greeted()
        await caller.ask(saying)

    async def every() -> list[PhoneCall]:
        return await asyncio.gather(*(_call(stack, number, talk) for number in range(calls)))

    return await _counted(stack, every)


async def _call(
    stack: CalledStack, number: int, talk: Callable[[PhoneCaller], Awaitable[None]]
) -> PhoneCall:
    return await phone_call(f"+155501{30 + number}", SHORT_NUMBER, stack.address, talk)


async def _counted(stack: CalledStack, every: Callable[[], Awaitable[list[PhoneCall]]]) -> Series:
    before = await settled(stack)
    calls = await every()
    behind = await left(stack, before)
    lines = await asyncio.to_thread(stack.phones.stack.log, "sip")
    received = packets_received(lines.splitlines())
    for call in calls:
        if call.call_id in received:
            call.sent_lost = max(0, call.sent - received[call.call_id])
    return Series(calls, behind)
