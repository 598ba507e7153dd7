"""An agent that answers with a tone, at moments that it remembers exactly.

It hears the caller with nothing but a level meter. What it does wrong, and when, is a script: each
entry of `answers` is what it does in that turn.
"""

import asyncio
import time
from collections.abc import Sequence
from enum import Enum, auto

import numpy as np
from livekit import rtc

from voice_agent.turn_report import TURN_TOPIC, TurnReport, TurnStages

RATE_HZ = 24_000
FRAME = RATE_HZ // 100
TONE_S = 0.5
HOLD_S = 0.4
"""Silence after which this agent takes the caller's turn for over, seconds."""
THINKING_S = 1.5
"""What a slow tool takes, seconds: longer than the silence after which a caller takes an answer for
over, were the agent not thinking."""
_AUDIBLE_RMS = 300


class Answer(Enum):
    """What the agent does in one turn."""

    TONE = auto()
    """Answers after `HOLD_S` of silence."""
    TWO_TONES = auto()
    """Answers, thinks for `THINKING_S` as if a tool ran, answers again."""
    EARLY = auto()
    """Speaks as soon as it hears the caller, and again after the caller's end."""
    SILENT = auto()
    """Says nothing."""
    LEAVE = auto()
    """Leaves the room instead of answering."""
    TONE_THEN_LEAVE = auto()
    """Answers and hangs up."""


class ToneAgent:
    """One participant of kind agent; everything happens inside `run`."""

    def __init__(
        self, answers: Sequence[Answer], *, greets: bool = True, tells_state: bool = True
    ) -> None:
        self.tones_sent_s: list[float] = []
        """When each tone's first sample was handed over, on `time.monotonic`."""
        self._answers = answers
        self._greets = greets
        self._tells_state = tells_state
        self._room = rtc.Room()
        self._source = rtc.AudioSource(RATE_HZ, 1, queue_size_ms=0)
        self._heard: asyncio.Queue[bool] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, url: str, token: str) -> None:
        """Join, greet, answer each turn; stays until cancelled or until the script says leave."""
        self._room.on("track_subscribed", self._on_track)
        await self._room.connect(url, token)
        try:
            await self._room.local_participant.publish_track(
                rtc.LocalAudioTrack.create_audio_track("voice", self._source),
                rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE),
            )
            await self._state("listening")
            if self._greets:
                await self._caller_here()
                await self._tone()
            for number, answer in enumerate(self._answers, start=1):
                if not await self._turn(number, answer):
                    return
            await asyncio.Event().wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            await self._room.disconnect()
            await self._source.aclose()

    async def _turn(self, number: int, answer: Answer) -> bool:
        while not await self._heard.get():
            pass
        if answer is Answer.EARLY:
            await self._tone()
        await self._caller_silent()
        if answer is Answer.LEAVE:
            return False
        if answer is Answer.SILENT:
            return True
        await self._tone()
        if answer is Answer.TWO_TONES:
            await self._state("thinking")
            await asyncio.sleep(THINKING_S)
            await self._tone()
        await self._report(number)
        return answer is not Answer.TONE_THEN_LEAVE

    async def _caller_here(self) -> None:
        await self._heard.get()  # one frame of the caller's line, be it silent

    async def _caller_silent(self) -> None:
        while True:
            try:
                async with asyncio.timeout(HOLD_S):
                    while True:
                        # a frame without sound does not restart the wait
                        if await self._heard.get():
                            break
            except TimeoutError:
                return

    async def _tone(self) -> None:
        times = np.arange(FRAME) / RATE_HZ
        # 400 Hz: a whole number of periods in a frame, so that frames join without a click
        frame = (8000 * np.cos(2 * np.pi * 400 * times)).astype(np.int16)
        started_s = time.monotonic()
        self.tones_sent_s.append(started_s)
        async with asyncio.TaskGroup() as beside:
            # the server's answer may take longer than the tone on a busy machine
            beside.create_task(self._state("speaking"))
            for index in range(round(TONE_S * 100)):
                await asyncio.sleep(max(0.0, started_s + index / 100 - time.monotonic()))
                await self._source.capture_frame(rtc.AudioFrame(frame.tobytes(), RATE_HZ, 1, FRAME))
        await self._state("listening")

    async def _state(self, state: str) -> None:
        if self._tells_state:
            await self._room.local_participant.set_attributes({"lk.agent.state": state})

    async def _report(self, number: int) -> None:
        caller = next(iter(self._room.remote_participants.values()))
        track = next(iter(caller.track_publications))
        heard = await self._room.local_participant.stream_text(
            topic="lk.transcription",
            sender_identity=caller.identity,
            attributes={
                "lk.segment_id": f"heard-{number}",
                "lk.transcription_final": "true",
                "lk.transcribed_track_id": track,
            },
        )
        await heard.write(f"sound {number}")
        await heard.aclose()
        said = await self._room.local_participant.stream_text(
            topic="lk.transcription", attributes={"lk.segment_id": f"said-{number}"}
        )
        await said.write("beep ")
        await said.write(str(number))
        await said.aclose()
        report = TurnReport(
            turn=number,
            user_text=f"sound {number}",
            agent_text=f"beep {number}",
            interrupted=False,
            stages=TurnStages(end_of_turn_delay_s=HOLD_S),
        )
        await self._room.local_participant.send_text(report.model_dump_json(), topic=TURN_TOPIC)

    def _on_track(self, track: rtc.Track, *_: object) -> None:
        self._tasks.add(asyncio.create_task(self._listen(track)))

    async def _listen(self, track: rtc.Track) -> None:
        stream = rtc.AudioStream(track, sample_rate=RATE_HZ, num_channels=1, frame_size_ms=10)
        try:
            async for event in stream:
                level = np.sqrt(np.mean(np.square(event.frame.data, dtype=np.float64)))
                self._heard.put_nowait(bool(level > _AUDIBLE_RMS))
        finally:
            await stream.aclose()
