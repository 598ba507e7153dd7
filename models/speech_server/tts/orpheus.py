"""The Orpheus engine: a language model writes codes, SNAC makes them audible, frame by frame.

A segment that goes wrong (the model loops, falls silent, stalls, leaves the codes, or breaks) is
taken up again once. The codes that were good so far are given back to the model as the beginning of
its answer, so that it goes on within the word: nothing is heard twice and nothing is left out.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Final

import numpy as np

from speech_server.errors import EngineFailed, Overloaded
from speech_server.metrics import DROPPED, INFERENCE, LEAD, RESUMED, RTF
from speech_server.tts.engine import Pcm16, Segment, SpeechChunk, TtsEngineInfo
from speech_server.tts.onset import OnsetTrimmer
from speech_server.tts.orpheus_codes import SAMPLE_RATE_HZ, SLOTS
from speech_server.tts.orpheus_prompt import VOICES, Prompt, build_prompt, neutralise, speakable
from speech_server.tts.orpheus_speech import OrpheusSpeech, SpeechFault
from speech_server.tts.tempo import TempoChanger
from speech_server.tts.token_source import GenerationFailed, SourceDied, TokenSource
from speech_server.tts.voice_codec import VoiceCodec

logger = logging.getLogger(__name__)

STALL_S: Final = 10.0
"""Longest wait for the next token, seconds: no caller waits longer for a voice."""

_RUNS: Final = 2
"""A segment is begun once and taken up again once."""
_WARM_FRAMES: Final = 4
"""Frames that are generated and decoded while the engine loads."""
_INFO: Final = TtsEngineInfo("orpheus", "orpheus", SAMPLE_RATE_HZ, VOICES)


class OrpheusEngine:
    """Speaks with Orpheus. Implements `TtsEngine`.

    Args:
        source: the language model.
        codec: makes its codes audible.
        stall_s: longest wait for the next token, seconds.
    """

    def __init__(self, source: TokenSource, codec: VoiceCodec, stall_s: float = STALL_S) -> None:
        self._source = source
        self._codec = codec
        self._stall_s = stall_s
        self._restart: asyncio.Task[None] | None = None

    @property
    def info(self) -> TtsEngineInfo:
        """What the engine can do."""
        return _INFO

    async def load(self) -> None:
        """Load model and codec and run both once.

        Raises:
            EngineFailed: one of them cannot be used; the message says what to do.
        """
        await self._codec.start()
        await self._source.start()
        await self._warm_up()

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment, from the first sound on.

        Nothing is yielded when the text holds no letter, digit or known sound.

        Raises:
            EngineFailed: the model went wrong twice, or its process ended.
            Overloaded: its process ended before and is being started again.
        """
        if self._restart is not None and not self._restart.done():
            raise Overloaded("orpheus: the voice model is being started again; try again shortly")
        text = neutralise(segment.text)
        if not speakable(text):
            return
        try:
            prompt = build_prompt(text, segment.voice, self._source.encode)
        except ValueError as error:
            raise EngineFailed(f"orpheus: {error}") from error
        speech = OrpheusSpeech(prompt, self._source, self._codec.stream(), self._stall_s)
        onset = OnsetTrimmer(SAMPLE_RATE_HZ)
        tempo = TempoChanger(SAMPLE_RATE_HZ, segment.speed)
        began_at = time.perf_counter()
        try:
            async with aclosing(self._speak(speech)) as pieces:
                async for pcm in pieces:
                    if len(heard := tempo.push(onset.push(pcm))):
                        yield SpeechChunk(heard)
            rest = tempo.push(onset.finish())
            yield SpeechChunk(np.concatenate((rest, tempo.finish())))
        except (GeneratorExit, asyncio.CancelledError):
            DROPPED.labels("tts", "cancelled").inc()
            raise
        took_s = time.perf_counter() - began_at
        LEAD.labels(_INFO.name).observe(onset.dropped / SAMPLE_RATE_HZ)
        INFERENCE.labels(_INFO.name).observe(took_s)
        RTF.labels(_INFO.name).observe(took_s * SAMPLE_RATE_HZ / speech.samples)

    async def close(self) -> None:
        """Free the model and the codec."""
        if self._restart is not None:
            self._restart.cancel()
            await asyncio.wait([self._restart])
        await self._source.close()
        await self._codec.close()

    async def _speak(self, speech: OrpheusSpeech) -> AsyncGenerator[Pcm16, None]:
        for run in range(1, _RUNS + 1):
            try:
                async with aclosing(speech.run()) as pieces:
                    async for pcm in pieces:
                        yield pcm
                return
            except SpeechFault as fault:
                if run == _RUNS:
                    raise EngineFailed(
                        f"orpheus: the voice model went wrong twice on this text ({fault.reason})"
                    ) from fault
                RESUMED.labels(_INFO.name, fault.reason).inc()
                logger.warning(
                    "a segment went wrong and is taken up again", extra={"reason": fault.reason}
                )
            except SourceDied as error:
                self._start_again()
                raise EngineFailed(
                    "orpheus: the voice model's process ended; it is being started again"
                ) from error

    def _start_again(self) -> None:
        if self._restart is None or self._restart.done():
            self._restart = asyncio.create_task(self._restart_source())

    async def _restart_source(self) -> None:
        logger.error("the voice model's process ended; it is started again")
        await self._source.close()
        try:
            await self._source.start()
        except EngineFailed:
            # The next segment finds the model gone and asks for another start.
            logger.exception("the voice model could not be started again")
        else:
            logger.info("the voice model runs again")

    async def _warm_up(self) -> None:
        """Run every part once, so that the first caller does not pay for it."""
        asked = build_prompt("Hello.", VOICES[0].id, self._source.encode)
        prompt = Prompt(asked.ids, _WARM_FRAMES * SLOTS, 0.0)
        try:
            async with aclosing(self._source.generate(prompt)) as steps:
                async for _ in steps:
                    await asyncio.sleep(0)
        except (GenerationFailed, SourceDied) as error:
            raise EngineFailed(f"orpheus: {error}") from error
        stream = self._codec.stream()
        await stream.push([(0, 0, 0, 0, 0, 0, 0)] * _WARM_FRAMES)
        await stream.flush()
