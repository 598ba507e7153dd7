"""More and more telephone calls at once, until one of them hears something that was not said."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np

from bench.call.sayings import Saying
from bench.phone.caller import PhoneCaller, phone_call
from bench.phone.glitches import answer_track, glitches, late_gaps_s
from bench.phone.records import Listened, Step
from bench.phone.sip_call import PhoneCallFailed
from bench.phone.stack import LONG_NUMBER, CalledStack
from voice_agent.caller.sound import Pcm16

_ALONE_TRIES: Final = 3
_DIAL_EVERY_S: Final = 0.25
"""Calls of a step begin one after another; that they may begin at once is measured elsewhere."""
_ASK_WITHIN_S: Final = 3.0
"""The callers of a step ask within so long of one another, so that their answers overlap."""


@dataclass(frozen=True)
class _Answer:
    """What one caller heard of the long answer."""

    listened: Listened
    track: Pcm16


class Ladder:
    """Climbs; the answer heard alone is what all others are compared with.

    Args:
        stack: who is called.
        question: what every caller asks, as `narrowband.for_the_line` makes it.
        listen_s: how much of the answer is heard, seconds.
    """

    def __init__(self, stack: CalledStack, question: Saying, listen_s: float) -> None:
        self._stack, self._question, self._listen_s = stack, question, listen_s
        self._said: Pcm16 | None = None

    async def alone(self) -> Step:
        """One call at a time, until two of them have heard the same; the first step.

        The step is clean only where two have: else nothing is known of what was said.
        """
        answers: list[_Answer] = []
        for _ in range(_ALONE_TRIES):
            (answer,) = await self._answers(1)
            answers.append(answer)
            for one, other in combinations(answers, 2):
                if one.listened.clean and other.listened.clean and _same(one, other):
                    self._said = one.track
                    return Step(1, [one.listened, other.listened])
        for answer in answers:
            answer.listened.glitches = glitches(answers[0].track, answer.track)
        return Step(1, [answer.listened for answer in answers])

    async def step(self, calls: int) -> Step:
        """So many calls at once.

        Raises:
            RuntimeError: the answer was never heard alone.
        """
        if self._said is None:
            raise RuntimeError("the answer was never heard alone")
        answers = await self._answers(calls)
        for answer in answers:
            answer.listened.glitches = await asyncio.to_thread(glitches, self._said, answer.track)
        return Step(calls, [answer.listened for answer in answers])

    async def _answers(self, calls: int) -> Sequence[_Answer]:
        """Hold some calls at once: all are greeted before the first one asks."""
        greeted = [asyncio.Event() for _ in range(calls)]

        async def hold(number: int) -> _Answer:
            answers: list[_Answer] = []

            async def talk(caller: PhoneCaller) -> None:
                await caller.greeted()
                greeted[number].set()
                for event in greeted:
                    await event.wait()
                await asyncio.sleep(_ASK_WITHIN_S * number / calls)
                answers.append(await self._listen(caller))

            await asyncio.sleep(_DIAL_EVERY_S * number)
            try:
                call = await phone_call(
                    f"+155502{number:02}", LONG_NUMBER, self._stack.address, talk
                )
            finally:
                greeted[number].set()
            (answer,) = answers or [_Answer(Listened(), np.zeros(0, np.int16))]
            answer.listened.call = call
            return answer

        return await asyncio.gather(*(hold(number) for number in range(calls)))

    async def _listen(self, caller: PhoneCaller) -> _Answer:
        """Ask, and hear some of the answer.

        Raises:
            PhoneCallFailed: the line was lost, or there was no such answer.
        """
        heard, spoken = await caller.ask_for(self._question, self._listen_s)
        if heard.lost or heard.cut_off:
            raise PhoneCallFailed(
                "no answer" if heard.lost else "the agent spoke into the question"
            )
        packets = [one for one in caller.phone.heard if one.arrived_s >= spoken.ended_s]
        listened = Listened(
            voice_to_voice_s=heard.voice_to_voice_s,
            late_gaps_s=late_gaps_s(packets),
            caller_late_s=spoken.late_s,
        )
        return _Answer(listened, answer_track(packets, self._listen_s))


def _same(one: _Answer, other: _Answer) -> bool:
    return not glitches(one.track, other.track) and not glitches(other.track, one.track)
