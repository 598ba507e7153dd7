"""One caller of the bench on one line: asks, interrupts, listens on, and notes what is heard."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

from bench.call.sayings import Saying
from bench.call.track import (
    STILL_TALKING_S,
    Heard,
    break_s,
    hear_turn,
    kept_answer,
    stopped_after_s,
    talks_at,
)
from voice_agent.caller.conversation import END_SILENCE_S
from voice_agent.caller.errors import CallFailed, CallFailure
from voice_agent.caller.microphone import Spoken
from voice_agent.caller.room import AgentRoom
from voice_agent.caller.token_client import JoinTicket
from voice_agent.turn_report import TurnReport, TurnStages

JOIN_LIMIT_S: Final = 30.0
"""Longest wait for the agent and its greeting: a busy machine starts a process for it."""
ANSWER_LIMIT_S: Final = 6.0
"""An answer that has not begun by then is lost: twice what the slowest decision waits."""
_OVER_LIMIT_S: Final = 20.0
_REPORT_GRACE_S: Final = 1.0
LISTEN_S: Final = 1.5
"""How long an answer is listened to before the caller speaks into it, seconds."""
_NEWEST_S: Final = 0.05
"""The newest sound may be a few frames old: they come every 10 ms, and not evenly."""
WATCH_S: Final = 2.0
"""How long the agent is watched after a back-channel, seconds."""
SOON_S: Final = 0.5
"""An agent whose break is this much longer than the back-channel, or less, has ignored it."""


@dataclass(frozen=True)
class Turn:
    """What became of one turn."""

    part: str
    kind: str
    voice: str
    pauses_s: tuple[float, ...]
    heard: Heard
    user_turns: int
    """How often the agent took it for over; 1 is right."""
    caller_late_s: float
    """By how much the sending was late at worst, seconds; bounds the error of the figures."""
    stages: TurnStages | None
    """The agent's own view."""
    speculations_discarded: int


@dataclass(frozen=True)
class Interruption:
    """What became of one interruption of a long answer."""

    voice: str
    stopped_after_s: float | None
    """See `track.stopped_after_s`."""


@dataclass(frozen=True)
class Backchannel:
    """What became of one back-channel into a long answer."""

    voice: str
    text: str
    length_s: float
    """From its first audible sample to its last one, seconds."""
    break_s: float | None
    """See `track.break_s`."""
    kept_answer: bool | None
    """See `track.kept_answer`."""

    @property
    def ignored(self) -> bool | None:
        """Whether the agent went on as if nothing had been, at once or once the caller was silent.

        None where it was in a pause of its own.
        """
        if self.break_s is None:
            return None
        return bool(self.kept_answer) and self.break_s <= self.length_s + SOON_S


class Caller:
    """A caller whose call has been answered and greeted."""

    def __init__(self, room: AgentRoom) -> None:
        self._room = room
        self._spoke_s = 0.0

    @property
    def connected(self) -> bool:
        """Whether the agent is still there."""
        return not self._room.agent_gone

    async def ask(self, saying: Saying) -> Turn:
        """Take a turn and listen to the whole answer.

        Raises:
            CallFailed: the line was lost.
        """
        room = self._room
        began_s = time.monotonic()
        spoken = await self._speak(saying)
        await room.wait_until(
            lambda: room.ear.audible_after(spoken.ended_s) or room.agent_gone, ANSWER_LIMIT_S
        )
        await room.wait_until(self.answer_over, _OVER_LIMIT_S)
        await room.wait_until(lambda: bool(self._reports(began_s)), _REPORT_GRACE_S)
        reports = self._reports(began_s)
        return Turn(
            part=saying.part,
            kind=saying.kind,
            voice=saying.voice,
            pauses_s=saying.pauses_s,
            heard=hear_turn(room.ear.sounds, room.agent_states, began_s, spoken.ended_s),
            user_turns=sum(report.user_turns for report in reports),
            caller_late_s=spoken.late_s,
            stages=reports[-1].stages if reports else None,
            speculations_discarded=sum(report.speculation.discarded for report in reports),
        )

    async def provoke(self, saying: Saying) -> None:
        """Ask for a long answer.

        Raises:
            CallFailed: the line was lost.
        """
        await self._speak(saying)

    async def interrupt(self, saying: Saying) -> Interruption:
        """Speak into a long answer; the answer to that is the next long one.

        Raises:
            CallFailed: the line was lost, or nobody answers.
        """
        await self._listen()
        spoken = await self._speak(saying)
        await asyncio.sleep(STILL_TALKING_S)
        onset_s = spoken.started_s + saying.onset_s
        stopped_s = stopped_after_s(self._room.ear.sounds, onset_s, spoken.ended_s)
        return Interruption(saying.voice, stopped_s)

    async def hum(self, saying: Saying) -> Backchannel:
        """Say a back-channel into a long answer and watch whether it goes on.

        Raises:
            CallFailed: the line was lost, or nobody answers.
        """
        await self._listen()
        spoken = await self._speak(saying)
        await asyncio.sleep(WATCH_S)
        room = self._room
        onset_s, until_s = spoken.started_s + saying.onset_s, spoken.ended_s + WATCH_S
        return Backchannel(
            saying.voice,
            saying.utterance.text,
            length_s=spoken.ended_s - onset_s,
            break_s=break_s(room.ear.sounds, onset_s, until_s),
            kept_answer=kept_answer(room.ear.sounds, room.agent_states, onset_s, until_s),
        )

    async def _speak(self, saying: Saying) -> Spoken:
        try:
            spoken = await self._room.microphone.speak(saying.utterance)
        except ConnectionError as error:
            raise CallFailed(CallFailure.CONNECTION_LOST, str(error)) from None
        self._spoke_s = spoken.ended_s
        return spoken

    async def _listen(self) -> None:
        """Hear some of the long answer; returns while it is audible."""
        room = self._room
        await room.wait_until(
            lambda: room.ear.audible_after(self._spoke_s) or room.agent_gone, ANSWER_LIMIT_S
        )
        await asyncio.sleep(LISTEN_S)
        talks = await room.wait_until(
            lambda: talks_at(room.ear.sounds, time.monotonic() - _NEWEST_S), ANSWER_LIMIT_S
        )
        if not talks:
            raise CallFailed(CallFailure.NO_ANSWER, "the agent fell silent in a long answer")

    def answer_over(self) -> bool:
        """Whether the agent has ended and listens, or has left."""
        room = self._room
        silent_s = room.ear.silent_for_s(time.monotonic())
        return room.agent_gone or (room.agent_state == "listening" and silent_s >= END_SILENCE_S)

    def _reports(self, since_s: float) -> list[TurnReport]:
        return [
            report
            for arrived_s, report in self._room.reports
            if arrived_s >= since_s and report.user_text
        ]


@asynccontextmanager
async def calling(ticket: JoinTicket) -> AsyncIterator[Caller]:
    """A call, from the end of its greeting on; hangs up at the end.

    Raises:
        CallFailed: it was not answered.
    """
    room = AgentRoom()
    try:
        await room.join(ticket)
        joined_s = time.monotonic()
        caller = Caller(room)
        await room.wait_until(
            lambda: room.ear.audible_after(joined_s) or room.agent_gone, JOIN_LIMIT_S
        )
        if not room.ear.audible_after(joined_s):
            raise CallFailed(CallFailure.NO_GREETING, "the call was not answered")
        await room.wait_until(caller.answer_over, _OVER_LIMIT_S)
        yield caller
    finally:
        await room.leave()
