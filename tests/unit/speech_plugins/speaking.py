"""What tests of the TTS plugin share: replies to speak, and a listener for what comes out."""

import asyncio

from livekit.agents import APIConnectOptions
from livekit.agents import tts as lk_tts
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT

from speech_plugins import TTS
from tests.unit.speech_plugins.attempts import FAST


class Listener:
    """Collects what a stream gives, in the background."""

    def __init__(self, stream: lk_tts.SynthesizeStream | lk_tts.ChunkedStream) -> None:
        self.stream = stream
        self.audio_s = 0.0
        self.samples: list[int] = []
        self.words: list[str] = []
        self.starts: list[float] = []
        self._heard = asyncio.Event()
        self.task = asyncio.create_task(self._listen())

    async def _listen(self) -> None:
        async for event in self.stream:
            self.audio_s += event.frame.duration
            self.samples += event.frame.data.tolist()
            timed = event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, [])
            self.words += [str(word) for word in timed]
            self.starts += [word.start_time for word in timed]
            self._heard.set()

    async def heard(self) -> None:
        """Wait until some audio came out."""
        await self._heard.wait()

    async def finish(self) -> None:
        async with asyncio.timeout(10):
            await self.task
        await self.stream.aclose()


def say(tts: TTS, text: str, options: APIConnectOptions = FAST) -> Listener:
    stream = tts.stream(conn_options=options)
    stream.push_text(text)
    stream.end_input()
    return Listener(stream)
