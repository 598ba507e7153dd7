"""What tests of the STT plugin share: audio to send, and the events that come back."""

import asyncio
import itertools
from typing import NamedTuple

import numpy as np
from livekit import rtc
from livekit.agents.stt import SpeechEvent, SpeechEventType

from speech_plugins.recognize_stream import RecognizeStream
from tests.unit.speech_plugins.fake_speech_server import Peer

Kind = SpeechEventType


class Events:
    """Collects a stream's events in the background."""

    def __init__(self, stream: RecognizeStream) -> None:
        self.all: list[SpeechEvent] = []
        self._stream = stream
        self._arrived = asyncio.Event()
        self.task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for event in self._stream:
            self.all.append(event)
            self._arrived.set()

    @property
    def spoken(self) -> list[tuple[SpeechEventType, str]]:
        """Kind and text of each event but usage."""
        return [
            (event.type, event.alternatives[0].text if event.alternatives else "")
            for event in self.all
            if event.type is not Kind.RECOGNITION_USAGE
        ]

    async def wait_for(self, kind: SpeechEventType, times: int = 1) -> SpeechEvent:
        async with asyncio.timeout(10):
            while len(found := [e for e in self.all if e.type is kind]) < times:
                self._arrived.clear()
                await self._arrived.wait()
        return found[times - 1]

    async def finish(self) -> None:
        async with asyncio.timeout(10):
            await self.task


def frame(value: int, samples: int = 320, rate_hz: int = 16_000) -> rtc.AudioFrame:
    """20 ms of one value, so that a test sees which frame it is."""
    pcm = np.full(samples, value, np.int16)
    return rtc.AudioFrame(pcm.tobytes(), rate_hz, 1, samples)


def values(audio: bytes) -> list[int]:
    """The distinct values in order."""
    pcm = np.frombuffer(audio, np.int16)
    return [int(value) for value, _ in itertools.groupby(pcm)]


async def expect_finalize(peer: Peer) -> None:
    assert await peer.receive() == {"type": "Finalize"}


class Listening(NamedTuple):
    """A stream that the server has accepted."""

    stream: RecognizeStream
    events: Events
    peer: Peer
