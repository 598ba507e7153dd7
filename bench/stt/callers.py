"""Many callers who talk at once, in real time, out of one event loop.

A caller says a recording, frame by frame, then 0.1 s of silence, asks for the final and is quiet
for one to two seconds while an agent would answer; then comes the next one. One loop sends for all.
"""

import asyncio
import heapq
import itertools
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from bench.stt.lines import Line, LineFactory, Refused
from bench.stt.recordings import FRAME_S, Recording, silent_frames

TRAILING_SILENCE_S: Final = 0.1
"""Between the last speech and Finalize: how long an agent waits to be sure of the end."""
_TRAILING_FRAMES: Final = round(TRAILING_SILENCE_S / FRAME_S)
PAUSE_S: Final = (1.0, 2.0)
"""The agent's answer lasts between these."""
_FINAL_TIMEOUT_S: Final = 10.0
"""A final that takes longer counts as lost."""
_COALESCE_S: Final = 0.001
"""Frames due within this are sent in one go."""
_KEPT_SEND_TIMES: Final = 2048
"""Frames whose time of sending is remembered, for the lag of interims."""


@dataclass(frozen=True)
class Turn:
    """One utterance and what became of it."""

    recording: Recording
    speech_ended_at: float
    """`time.perf_counter` when the last frame of speech was sent."""
    finalized_at: float
    heard_at: float | None
    """When the final came; None: never."""
    heard: str = ""

    @property
    def final_latency_s(self) -> float:
        """From the end of speech to the final; infinite where none came."""
        return float("inf") if self.heard_at is None else self.heard_at - self.speech_ended_at

    @property
    def after_finalize_s(self) -> float:
        """From Finalize to the final; infinite where none came."""
        return float("inf") if self.heard_at is None else self.heard_at - self.finalized_at


@dataclass
class Conversation:
    """What all callers of a round met."""

    turns: list[Turn] = field(default_factory=list)
    interim_lags_s: list[float] = field(default_factory=list)
    """From sending the newest audio that an interim covers to its arrival."""
    lateness_s: list[float] = field(default_factory=list)
    """How late frames were sent: a busy client measures itself."""
    utterances: int = 0
    """Finals asked for, those included that are not counted."""
    speech_s: float = 0.0
    """Speech sent by all callers, those utterances included that are not counted."""
    refused: int = 0
    broken: list[str] = field(default_factory=list)
    """Connections that ended early, with the reason."""


class _Caller:
    """Implements `Listener`."""

    def __init__(
        self,
        conversation: Conversation,
        recordings: Iterator[tuple[Recording, Sequence[bytes]]],
        silence: Sequence[bytes],
        random: Random,
    ) -> None:
        self.line: Line
        self.finished = False
        self._conversation = conversation
        self._recordings = recordings
        self._silence = silence
        self._random = random
        self._script = deque[bytes]()
        self._recording: Recording | None = None
        self._last_said: Recording | None = None
        self._speech_ended_at = self._finalized_at = 0.0
        self._pause_until = 0.0
        self._silent = 0
        self._sent_at: deque[float] = deque(maxlen=_KEPT_SEND_TIMES)
        self._sent = 0

    @property
    def waits(self) -> bool:
        """Whether a final was asked for that has not come."""
        return self._finalized_at > 0.0

    def step(self, now: float, may_begin: bool) -> None:
        """Send the frame that is due."""
        if self._recording is None:
            if may_begin and not self.waits and now >= self._pause_until and self.line.ready:
                self._begin()
            elif self.line.sends_pauses:
                self._send(self._next_silence(), now)
            if self.waits and now - self._finalized_at > _FINAL_TIMEOUT_S:
                self._end_turn(None, "")
            return
        trailing = len(self._script) <= _TRAILING_FRAMES
        self._send(self._script.popleft(), now)
        if not trailing:
            self._speech_ended_at = now
        if not self._script:
            self._finalized_at = now
            self._conversation.utterances += 1
            self._conversation.speech_s += self._recording.duration_s
            self._last_said, self._recording = self._recording, None
            self._pause_until = now + self._random.uniform(*PAUSE_S)
            self.line.finalize()

    def heard_final(self, text: str) -> None:
        if self.waits:
            self._end_turn(time.perf_counter(), text)

    def heard_interim(self, end_s: float) -> None:
        frame = round(end_s / FRAME_S) - 1
        index = frame - (self._sent - len(self._sent_at))
        if 0 <= index < len(self._sent_at):
            lag_s = time.perf_counter() - self._sent_at[index]
            self._conversation.interim_lags_s.append(lag_s)

    def lost(self, reason: str) -> None:
        if not self.finished:
            self.finished = True
            self._conversation.broken.append(reason)
            if self.waits:
                self._end_turn(None, "")

    def _begin(self) -> None:
        self._recording, speech = next(self._recordings)
        self._script.extend(speech)
        self._script.extend(self._next_silence() for _ in range(_TRAILING_FRAMES))
        self.line.begin()

    def _end_turn(self, heard_at: float | None, text: str) -> None:
        assert self._last_said is not None
        turn = Turn(self._last_said, self._speech_ended_at, self._finalized_at, heard_at, text)
        self._conversation.turns.append(turn)
        self._finalized_at = 0.0

    def _next_silence(self) -> bytes:
        self._silent = (self._silent + 1) % len(self._silence)
        return self._silence[self._silent]

    def _send(self, encoded: bytes, now: float) -> None:
        self.line.send(encoded)
        self._sent_at.append(now)
        self._sent += 1


async def converse(
    new_line: LineFactory,
    recordings: Sequence[Recording],
    *,
    streams: int,
    join_s: float,
    talk_s: float,
    seed: int = 0,
) -> Conversation:
    """Let callers talk, and tell what they met once all have been there.

    Args:
        new_line: makes a caller's connection.
        recordings: what they say, shuffled; whoever begins takes the next one, so that the whole
            set is said if there is time.
        streams: how many callers.
        join_s: they join evenly spread over this time; utterances that end before are not counted.
        talk_s: how long they talk from then on. A final that is open by then is waited for.
        seed: of the callers' choices.
    """
    conversation = Conversation()
    callers: list[_Caller] = []
    shuffled = Random(seed).sample(recordings, len(recordings))
    encoded: list[tuple[Recording, list[bytes]]] = []
    # filled by the first caller, whose line knows the encoding
    deck: Iterator[tuple[Recording, list[bytes]]] = itertools.cycle(encoded)
    silence: list[bytes] = []
    started = time.perf_counter()
    counted_from, ends = started + join_s, started + join_s + talk_s
    due: list[tuple[float, int]] = []

    async def join(index: int) -> None:
        await asyncio.sleep(join_s * index / streams)
        caller = _Caller(conversation, deck, silence, Random(f"{seed}-{index}"))
        caller.line = new_line(caller)
        if not encoded:
            silence[:] = map(caller.line.encode, silent_frames(1.0))
            encoded[:] = [(r, list(map(caller.line.encode, r.frames))) for r in shuffled]
        try:
            await caller.line.open()
        except Refused as error:
            conversation.refused += 1
            conversation.broken.append(f"refused: {error}")
            return
        callers.append(caller)
        heapq.heappush(due, (time.perf_counter(), len(callers) - 1))

    joining = [asyncio.create_task(join(index)) for index in range(streams)]
    try:
        while (now := time.perf_counter()) < ends or any(
            caller.waits and not caller.finished for caller in callers
        ):
            for _ in range(len(due)):  # no more: what has arrived must be read in between
                at, index = due[0]
                if at > now + _COALESCE_S:
                    break
                heapq.heappop(due)
                if callers[index].finished:
                    continue
                sent_at = time.perf_counter()
                callers[index].step(sent_at, sent_at < ends)
                conversation.lateness_s.append(sent_at - at)
                heapq.heappush(due, (at + FRAME_S, index))
            wake_at = due[0][0] if due else now + FRAME_S
            await asyncio.sleep(max(0.0, wake_at - time.perf_counter()))
        await asyncio.gather(*joining)
    finally:
        for task in joining:
            task.cancel()
        for caller in callers:
            caller.finished = True
            caller.line.close()
    conversation.turns = [t for t in conversation.turns if t.speech_ended_at >= counted_from]
    return conversation
