"""A caller of our plugins: speaks, listens, and looks at what the server has left."""

import asyncio

import aiohttp
import numpy as np
import numpy.typing as npt
from livekit import rtc
from livekit.agents import APIConnectOptions
from livekit.agents.stt import SpeechEvent, SpeechEventType

from speech_plugins import STT, TTS
from speech_plugins.recognize_stream import RecognizeStream
from tests.spoken import silence, speak

RATE_HZ = 24_000
"""What an AgentSession delivers."""
FRAME_SAMPLES = 480
"""20 ms of it, samples."""
ONCE = APIConnectOptions(max_retry=0, timeout=3.0)
Kind = SpeechEventType


def frame(pcm: npt.NDArray[np.int16]) -> rtc.AudioFrame:
    return rtc.AudioFrame(pcm.tobytes(), RATE_HZ, 1, len(pcm))


def utterance(text: str, *, before_s: float = 0.3, after_s: float = 0.4) -> npt.NDArray[np.int16]:
    """Room noise, speech, room noise, at 24 kHz."""
    return np.concatenate(
        [silence(before_s, RATE_HZ), speak(text, rate_hz=RATE_HZ), silence(after_s, RATE_HZ)]
    )


class Caller:
    """Speaks into a stream as fast as it takes it, and collects what comes back."""

    def __init__(self, stream: RecognizeStream) -> None:
        self.stream = stream
        self.events: list[SpeechEvent] = []
        self._arrived = asyncio.Event()
        self.task = asyncio.create_task(self._collect())

    async def _collect(self) -> None:
        async for event in self.stream:
            self.events.append(event)
            self._arrived.set()

    def say(self, pcm: npt.NDArray[np.int16]) -> None:
        for begin in range(0, len(pcm), FRAME_SAMPLES):
            self.stream.push_frame(frame(pcm[begin : begin + FRAME_SAMPLES]))

    def texts(self, kind: SpeechEventType) -> list[str]:
        return [e.alternatives[0].text for e in self.events if e.type is kind]

    async def wait_for(self, kind: SpeechEventType, times: int = 1) -> None:
        async with asyncio.timeout(20):
            while sum(e.type is kind for e in self.events) < times:
                self._arrived.clear()
                await self._arrived.wait()

    async def hang_up(self) -> None:
        self.stream.end_input()
        async with asyncio.timeout(20):
            await self.task
        await self.stream.aclose()


async def heard(tts: TTS, text: str, options: APIConnectOptions = ONCE) -> rtc.AudioFrame:
    """A text, spoken through a stream token by token."""
    async with tts.stream(conn_options=options) as stream:
        for token in text.split(" "):
            stream.push_text(token + " ")
        stream.end_input()
        return rtc.combine_audio_frames([event.frame async for event in stream])


async def transcribed(stt: STT, audio: rtc.AudioFrame) -> str:
    event = await stt.recognize(audio, conn_options=ONCE)
    return event.alternatives[0].text.lower()


async def server_metric(http: aiohttp.ClientSession, url: str, line: str) -> float:
    async with http.get(f"{url}/metrics") as response:
        text = await response.text()
    return next(float(row.split()[-1]) for row in text.splitlines() if row.startswith(line))


async def no_stream_left(http: aiohttp.ClientSession, url: str, service: str) -> None:
    """Wait for the other process; there is no event to wait for."""
    async with asyncio.timeout(10):
        line = f'speech_streams_active{{service="{service}"}}'
        while await server_metric(http, url, line):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
