"""A voice that has said everything beforehand, so that saying it again takes no time."""

from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from dataclasses import replace

import numpy as np

from speech_server.tts.engine import Segment, SpeechChunk, TtsEngine, TtsEngineInfo, WordTime
from speech_server.tts.silence import AUDIBLE_LEVEL, ONSET_S
from speech_server.tts.stream import Delivery, Reply


class RehearsedVoice:
    """A `TtsEngine` that hands out another one's speech from memory, from its first sound on.

    A simulated voice is to be as quick as it is said to be, whatever this machine's processor needs
    for the speech and however long the real voice is silent before it.

    Args:
        engine: who really speaks.
        texts: replies spoken while it loads, with the engine's first voice. Others are spoken when
            they are asked for.
    """

    def __init__(self, engine: TtsEngine, texts: Iterable[str]) -> None:
        self._engine = engine
        self._texts = tuple(texts)
        self._spoken: dict[Segment, SpeechChunk] = {}

    @property
    def info(self) -> TtsEngineInfo:
        """That of the engine that speaks."""
        return self._engine.info

    async def load(self) -> None:
        """Load the engine and speak all texts, cut as the server will cut them."""
        await self._engine.load()
        delivery = Delivery(self.info.voices[0].id, self.info.sample_rate_hz)
        for text in self._texts:
            reply = Reply(self, delivery, max_chars=len(text))
            try:
                reply.push(text)
                reply.end()
                async with aclosing(reply.events()) as events:
                    async for _ in events:
                        pass
            finally:
                await reply.aclose()

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Give all of a segment at once."""
        # what was said before does not change how the built-in voices speak
        key = replace(segment, context="", reply=None)
        if key not in self._spoken:
            self._spoken[key] = await self._speak(key)
        yield self._spoken[key]

    async def close(self) -> None:
        """Free the engine."""
        await self._engine.close()

    async def _speak(self, segment: Segment) -> SpeechChunk:
        pieces = [np.zeros(0, np.int16)]
        words: list[WordTime] = []
        async with aclosing(self._engine.synthesize(segment)) as chunks:
            async for chunk in chunks:
                pieces.append(chunk.pcm)
                words += chunk.words
        pcm = np.concatenate(pieces)
        audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE_LEVEL)
        rate_hz = self.info.sample_rate_hz
        silent = max(0, int(audible[0]) - round(ONSET_S * rate_hz)) if audible.size else 0
        return SpeechChunk(pcm[silent:], tuple(_earlier(words, silent / rate_hz)))


def _earlier(words: Iterable[WordTime], by_s: float) -> Iterable[WordTime]:
    for word in words:
        yield WordTime(word.text, max(0.0, word.start_s - by_s), max(0.0, word.end_s - by_s))
