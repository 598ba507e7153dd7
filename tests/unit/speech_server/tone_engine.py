"""A text-to-speech engine made of constants, whose audio says which segment it is of."""

import asyncio
from collections.abc import AsyncGenerator

import numpy as np

from speech_server.tts.engine import Segment, SpeechChunk, TtsEngineInfo, Voice, WordTime

RATE_HZ = 16_000
WORD_SAMPLES = 1_600
LEAD = 3_200


class ToneEngine:
    """Speaks 0.2 s of silence, then 0.1 s of a constant for every word."""

    def __init__(self) -> None:
        self.segments: list[Segment] = []
        self.closed = 0
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.failure: Exception | None = None

    @property
    def info(self) -> TtsEngineInfo:
        return TtsEngineInfo("tone", "tone", RATE_HZ, (Voice("a", "en-US"),), word_times=True)

    async def load(self) -> None: ...

    async def close(self) -> None: ...

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        self.segments.append(segment)
        self.begun.set()
        try:
            yield SpeechChunk(np.zeros(LEAD, dtype=np.int16))
            for index, word in enumerate(segment.text.split()):
                await self.gate.wait()
                if self.failure is not None:
                    raise self.failure
                start_s = (LEAD + index * WORD_SAMPLES) / RATE_HZ
                time = WordTime(word, start_s, start_s + WORD_SAMPLES / RATE_HZ)
                pcm = np.full(WORD_SAMPLES, 1_000 + len(self.segments), dtype=np.int16)
                yield SpeechChunk(pcm, (time,))
        finally:
            self.closed += 1
