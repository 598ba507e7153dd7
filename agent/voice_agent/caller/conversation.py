"""One call from joining to hanging up, in the order in which it happens.

What a turn's figures mean:

- A sound of the agent's that *begins* after we began to speak belongs to our turn. Its first
  audible sample minus our last one is `voice_to_voice_s`.
- When it began before our last audible sample, the agent cut us off (or back-channelled): the
  figure is negative, the turn is marked `answered_early` and left out of median and maximum. We go
  on speaking to the end all the same.
- The turn is answered when something is audible *after* our last sample.
- The answer is over when the line was silent for `END_SILENCE_S` and the agent says that it is
  listening: a pause while a tool runs is no end. An agent that tells no state gets a longer
  silence. An agent that hangs up has ended its answer.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from voice_agent.caller.errors import CallFailed, CallFailure
from voice_agent.caller.recording import Recording
from voice_agent.caller.report import CallError, CallReport, Greeting, Turn
from voice_agent.caller.room import AgentRoom
from voice_agent.caller.token_client import JoinTicket
from voice_agent.caller.transcript import GREETING_TURN, Speaker
from voice_agent.caller.wav import Utterance
from voice_agent.turn_report import TurnReport

logger = logging.getLogger(__name__)

END_SILENCE_S = 0.8
"""Silence that ends an answer when the agent is listening, seconds."""
END_SILENCE_STATELESS_S = 2.0
"""Silence that ends an answer when the agent tells no state, seconds."""
MAX_ANSWER_S = 120.0
"""Longest answer that is listened to, seconds."""
REPORT_GRACE_S = 1.0
"""Longest wait for the agent's turn report after its answer, seconds."""
_WAITING_STATES = ("listening", "idle")


@dataclass(frozen=True)
class TypedLine:
    """A turn that is typed into the chat."""

    text: str


Line: TypeAlias = Utterance | TypedLine
"""What the caller does in one turn."""


@dataclass(frozen=True)
class Limits:
    """How long the caller waits, seconds."""

    join_s: float = 15.0
    """For the agent to come."""
    answer_s: float = 30.0
    """For the greeting, and for each answer, to begin."""


class Conversation:
    """Holds one call; `report` is complete, as far as it got, at any time."""

    def __init__(
        self,
        room: AgentRoom,
        limits: Limits,
        on_greeting: Callable[[Greeting], None],
        on_turn: Callable[[Turn], None],
    ) -> None:
        self.report = CallReport()
        self._room = room
        self._limits = limits
        self._on_greeting = on_greeting
        self._on_turn = on_turn
        self._joined_s = 0.0

    async def hold(self, ticket: JoinTicket, lines: Sequence[Line]) -> None:
        """Join, hear the greeting, take every turn, hang up.

        Raises:
            CallFailed: the call did not get as far; `report` holds what there was.
        """
        room = self._room
        try:
            await room.join(ticket)
            self._joined_s = time.monotonic()
            self.report.room = room.name
            logger.info("joined", extra={"room": room.name})
            await self._meet_agent()
            logger.info("agent joined", extra={"agent": room.agent_identity})
            await self._hear_greeting()
            for number, line in enumerate(lines, start=1):
                await self._take_turn(number, line)
        finally:
            if self._joined_s:
                self.report.duration_s = time.monotonic() - self._joined_s
            self.report.agent_hung_up = room.agent_gone
            await room.leave()

    async def _meet_agent(self) -> None:
        room = self._room
        await room.wait_until(lambda: bool(room.agent_identity or room.lost), self._limits.join_s)
        if room.agent_identity is None:
            raise CallFailed(
                CallFailure.NO_AGENT,
                f"the connection was lost: {room.lost}"
                if room.lost
                else f"no agent joined within {self._limits.join_s:g} s; "
                "is a worker running, and is it registered under the agent's name?",
            )
        self.report.agent = room.agent_identity
        self.report.agent_joined_s = time.monotonic() - self._joined_s

    async def _hear_greeting(self) -> None:
        await self._hear_answer(self._joined_s, turn=None)
        room = self._room
        first = room.ear.first_sound_since(self._joined_s)
        last_s = time.monotonic() - room.ear.silent_for_s(time.monotonic())
        greeting = Greeting(
            reply=room.transcript.words(Speaker.AGENT, GREETING_TURN),
            first_sound_s=(first.start_s if first else last_s) - self._joined_s,
            duration_s=last_s - (first.start_s if first else last_s),
        )
        self.report.greeting = greeting
        self._on_greeting(greeting)

    async def _take_turn(self, number: int, line: Line) -> None:
        room = self._room
        room.transcript.begin_turn(number)
        began_s = time.monotonic()
        if isinstance(line, Utterance):
            turn = Turn(turn=number, kind="voice", said=line.text)
        else:
            turn = Turn(turn=number, kind="text", said=line.text)
        self.report.turns.append(turn)
        if room.agent_gone:
            raise self._agent_left(number)
        try:
            logger.info("turn begins", extra={"turn": number})
            if isinstance(line, Utterance):
                spoken = await room.microphone.speak(line)
                ended_s = spoken.ended_s
                turn.caller_late_s = spoken.late_s
            else:
                ended_s = await room.send_text(line.text)
            await self._hear_answer(ended_s, turn=number)
            await room.wait_until(lambda: bool(self._reports(began_s)), REPORT_GRACE_S)
            self._measure(turn, began_s, ended_s)
        except ConnectionError as error:
            raise CallFailed(
                CallFailure.CONNECTION_LOST,
                f"turn {number} could not be sent: {error}",
                turn=number,
            ) from None
        finally:
            self._describe(turn, began_s)
        self._on_turn(turn)

    async def _hear_answer(self, after_s: float, turn: int | None) -> None:
        """Wait until something was audible after `after_s`, then until it is over."""
        room, ear = self._room, self._room.ear
        await room.wait_until(
            lambda: ear.audible_after(after_s) or room.agent_gone, self._limits.answer_s
        )
        if not ear.audible_after(after_s):
            if room.agent_gone:
                raise self._agent_left(turn)
            what = "no greeting" if turn is None else f"no answer to turn {turn}"
            raise CallFailed(
                CallFailure.NO_GREETING if turn is None else CallFailure.NO_ANSWER,
                f"{what}: nothing was audible for {self._limits.answer_s:g} s",
                turn=turn,
            )
        logger.info("agent audible", extra={"turn": turn})
        if not await room.wait_until(self._answer_over, MAX_ANSWER_S):
            what = "the greeting" if turn is None else f"the answer to turn {turn}"
            raise CallFailed(
                CallFailure.ANSWER_TOO_LONG,
                f"{what} had no end after {MAX_ANSWER_S:g} s "
                f"(the agent's state is {room.agent_state or 'not told'})",
                turn=turn,
            )

    def _answer_over(self) -> bool:
        if self._room.agent_gone:
            return True
        silent_s = self._room.ear.silent_for_s(time.monotonic())
        state = self._room.agent_state
        if state is None:
            return silent_s >= END_SILENCE_STATELESS_S
        return state in _WAITING_STATES and silent_s >= END_SILENCE_S

    def _agent_left(self, turn: int | None) -> CallFailed:
        when = "before its greeting" if turn is None else f"before it had answered turn {turn}"
        if self._room.lost is not None:
            return CallFailed(
                CallFailure.CONNECTION_LOST,
                f"the call ended {when}: {self._room.lost}",
                turn=turn,
            )
        return CallFailed(CallFailure.AGENT_LEFT, f"the agent left {when}", turn=turn)

    def _measure(self, turn: Turn, began_s: float, ended_s: float) -> None:
        """Put the ear's figures into `turn`."""
        ear, now_s = self._room.ear, time.monotonic()
        sound = ear.first_sound_since(began_s)
        if sound is None:
            return  # the answer to the turn before ran into this one; nothing of ours to measure
        latency_s = sound.start_s - ended_s
        turn.answered_early = latency_s < 0
        turn.answer_duration_s = now_s - ear.silent_for_s(now_s) - sound.start_s
        if turn.kind == "voice":
            turn.voice_to_voice_s = latency_s
        else:
            turn.text_to_voice_s = latency_s

    def _describe(self, turn: Turn, began_s: float) -> None:
        """Put the words and the agent's own figures into `turn`, as far as they came."""
        transcript = self._room.transcript
        turn.heard_by_agent = transcript.words(Speaker.CALLER, turn.turn)
        turn.reply = transcript.words(Speaker.AGENT, turn.turn)
        reports = self._reports(began_s)
        if reports:
            # the caller waited for the first that answers; others came unasked
            answer = next((report for report in reports if report.user_text), reports[0])
            turn.stages = answer.stages
            turn.interrupted = any(report.interrupted for report in reports)
            turn.heard_by_agent = turn.heard_by_agent or answer.user_text

    def _reports(self, since_s: float) -> list[TurnReport]:
        return [
            report
            for arrived_s, report in self._room.reports
            if arrived_s >= since_s and report.turn
        ]


async def hold_conversation(
    ticket: JoinTicket,
    lines: Sequence[Line],
    limits: Limits,
    *,
    recording: Recording | None = None,
    on_greeting: Callable[[Greeting], None] = lambda _: None,
    on_turn: Callable[[Turn], None] = lambda _: None,
) -> CallReport:
    """Hold one call and report on it; a failed call is reported, not raised."""
    conversation = Conversation(AgentRoom(recording), limits, on_greeting, on_turn)
    report = conversation.report
    try:
        await conversation.hold(ticket, lines)
    except CallFailed as error:
        report.errors.append(CallError(code=error.code, message=error.message, turn=error.turn))
    return report
