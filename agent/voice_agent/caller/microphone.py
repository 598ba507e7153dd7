"""The caller's side of the line: 10 ms frames paced by the clock, speech on top of a noise floor.

LiveKit's own source queues a second of audio ahead, so the moment at which a frame is queued says
nothing about when it leaves. Here the source has no queue and every frame is handed over when its
time has come; the moment of the frame with the last audible sample is the end of the speech.
"""

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

import numpy as np

from voice_agent.caller.sound import FRAME_S, FRAME_SAMPLES, NOISE_FLOOR_RMS, RATE_HZ, Pcm16
from voice_agent.caller.wav import Utterance

MAX_CATCH_UP_S = 0.5
"""Frames that are later than this (a machine that slept) are left out, not sent in a burst."""


@dataclass(frozen=True)
class Spoken:
    """One utterance as it really left, on the microphone's clock."""

    started_s: float
    """When its first frame was handed over, seconds."""
    ended_s: float
    """When its last *audible* sample was handed over, seconds."""
    late_s: float
    """By how much its latest frame missed its time, seconds; bounds the error of `ended_s`."""


@dataclass
class _Speech:
    """An utterance on its way out."""

    utterance: Utterance
    done: asyncio.Future[Spoken]
    position: int = 0
    started_s: float = 0.0
    ended_s: float = 0.0
    late_s: float = 0.0


@dataclass
class Microphone:
    """Sends one frame every 10 ms for as long as `run` runs.

    One utterance at a time; between them the line carries noise at -75 dBFS.
    """

    send: Callable[[Pcm16, float], Awaitable[None]]
    """Takes a frame, int16 (`FRAME_SAMPLES`,), and the moment at which it is handed over."""
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    _speech: _Speech | None = field(default=None, init=False)
    _noise: Pcm16 = field(init=False)

    def __post_init__(self) -> None:
        # one second of the same noise over and over: cheap, and the same in every call
        noise = np.random.default_rng(0).normal(0, NOISE_FLOOR_RMS, RATE_HZ)
        self._noise = np.rint(noise).astype(np.int16)

    async def speak(self, utterance: Utterance) -> Spoken:
        """Put `utterance` on the line; returns when its last sample has been handed over.

        Raises:
            RuntimeError: something is being spoken already.
            ConnectionError: `run` ended before that.
        """
        if self._speech is not None:
            raise RuntimeError("one utterance at a time")
        self._speech = _Speech(utterance, asyncio.get_running_loop().create_future())
        try:
            return await self._speech.done
        finally:
            self._speech = None

    async def run(self) -> None:
        """Send frames until cancelled."""
        try:
            await self._send_frames()
        finally:
            if self._speech is not None and not self._speech.done.done():
                self._speech.done.set_exception(ConnectionError("the line was closed"))

    async def _send_frames(self) -> None:
        started_s = self.clock()
        for index in itertools.count():
            due_s = started_s + index * FRAME_S
            if (early_s := due_s - self.clock()) > 0:
                await self.sleep(early_s)
            now_s = self.clock()
            late_s = now_s - due_s
            if late_s > MAX_CATCH_UP_S:
                started_s += late_s
            frame = self._frame(index, now_s, late_s)
            await self.send(frame, now_s)
            self._finish()

    def _frame(self, index: int, now_s: float, late_s: float) -> Pcm16:
        """The next frame; stamps the speech in it as handed over at `now_s`."""
        offset = index * FRAME_SAMPLES % len(self._noise)
        noise = self._noise[offset : offset + FRAME_SAMPLES]
        speech = self._speech
        if speech is None or speech.done.done():
            return noise
        if speech.position == 0:
            speech.started_s = now_s
        end = speech.position + FRAME_SAMPLES
        if speech.position <= speech.utterance.last_audible < end:
            speech.ended_s = now_s
        speech.late_s = max(speech.late_s, late_s)
        words = speech.utterance.samples[speech.position : end]
        speech.position = end
        mixed = noise.astype(np.int32)
        mixed[: len(words)] += words
        return mixed.clip(-(2**15), 2**15 - 1).astype(np.int16)

    def _finish(self) -> None:
        speech = self._speech
        if speech is None or speech.done.done():
            return
        if speech.position >= len(speech.utterance.samples):
            speech.done.set_result(Spoken(speech.started_s, speech.ended_s, speech.late_s))
