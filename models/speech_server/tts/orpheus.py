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
from dataclasses import dataclass
from typing import Final

import numpy as np

from speech_server.errors import EngineFailed, EngineRestarting
from speech_server.metrics import DROPPED, INFERENCE, LEAD, RESUMED, RTF
from speech_server.tts.engine import Pcm16, Segment, SpeechChunk, TtsEngineInfo
from speech_server.tts.orpheus_codes import SAMPLE_RATE_HZ, SLOTS
from speech_server.tts.orpheus_memory import ReplyMemory, VoiceMemory
from speech_server.tts.orpheus_prompt import (
    TAGS,
    VOICES,
    Prompt,
    build_prompt,
    neutralise,
    speakable,
)
from speech_server.tts.orpheus_speech import OrpheusSpeech, SpeechFault
from speech_server.tts.speech_edges import SpeechEdges
from speech_server.tts.tempo import TempoChanger
from speech_server.tts.token_source import GenerationFailed, SourceDied, TokenSource
from speech_server.tts.voice_codec import VoiceCodec
from speech_server.tts.word_estimate import WordEstimate

logger = logging.getLogger(__name__)

_RUNS: Final = 2
"""A segment is begun once and taken up again once."""
_WARM_FRAMES: Final = 4
"""Frames that are generated and decoded while the engine loads."""
_INFO: Final = TtsEngineInfo(
    "orpheus",
    "orpheus",
    SAMPLE_RATE_HZ,
    VOICES,
    word_times=True,
    word_times_estimated=True,
    sounds=frozenset(TAGS),
    reads_digits=False,
)


@dataclass(frozen=True, slots=True)
class OrpheusOptions:
    """How the engine speaks. What is off was tried on the tiny voice of the tests only."""

    stall_s: float = 10.0
    """Longest wait for the next token, seconds: no caller waits longer for a voice."""
    restart_pause_s: float = 5.0
    """Wait before a model that could not be started is started once more, seconds."""
    give_silence: bool = False
    """Begin the model's answer with the silence that the voice opens with, learnt from its first
    segment: one prefill in place of a step for each token."""
    keep_prosody: bool = False
    """Put what a reply has said so far, text and speech, before each of its next segments."""


class OrpheusEngine:
    """Speaks with Orpheus. Implements `TtsEngine`.

    Args:
        source: the language model.
        codec: makes its codes audible.
        options: how it speaks.
    """

    def __init__(
        self, source: TokenSource, codec: VoiceCodec, options: OrpheusOptions | None = None
    ) -> None:
        self._source = source
        self._codec = codec
        self._options = options or OrpheusOptions()
        self._voices = {voice.id: VoiceMemory() for voice in VOICES}
        self._replies = ReplyMemory()
        self._restart: asyncio.Task[None] | None = None

    @property
    def info(self) -> TtsEngineInfo:
        """What the engine can do."""
        return _INFO

    @property
    def recovering(self) -> str | None:
        """Why nothing can be spoken just now; None while it can."""
        restarts = self._restart is not None and not self._restart.done()
        return "the voice model is being started again" if restarts else None

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
            EngineFailed: the model went wrong twice.
            EngineRestarting: its process ended, now or before, and is being started again.
        """
        if self._restart is not None and not self._restart.done():
            raise EngineRestarting(
                "orpheus: the voice model is being started again; try again shortly"
            )
        text = neutralise(segment.text)
        if not speakable(text):
            return
        try:
            prompt = build_prompt(text, segment.voice, self._source.encode)
        except ValueError as error:
            raise EngineFailed(f"orpheus: {error}") from error
        voice = self._voices[segment.voice]
        speech = self._begin(segment, prompt, voice)
        level = voice.silence.sound_level
        edges = SpeechEdges(SAMPLE_RATE_HZ, level)
        tempo = TempoChanger(SAMPLE_RATE_HZ, segment.speed)
        letter_s = voice.pace.letter_s / segment.speed
        words = WordEstimate(segment.text, SAMPLE_RATE_HZ, letter_s, level)
        began_at = time.perf_counter()
        try:
            async with aclosing(self._speak(speech)) as pieces:
                async for pcm in pieces:
                    if len(heard := tempo.push(edges.push(pcm))):
                        yield SpeechChunk(heard, tuple(words.push(heard)))
            heard = np.concatenate((tempo.push(edges.finish()), tempo.finish()))
            yield SpeechChunk(heard, (*words.push(heard), *words.finish()))
        except (GeneratorExit, asyncio.CancelledError):
            DROPPED.labels("tts", "cancelled").inc()
            raise
        voice.silence.learn(edges.quietest_rms)
        voice.pace.learn(words.letters, words.seconds * segment.speed)
        voice.learn_lead(speech.frames, edges.silent)
        if self._options.keep_prosody:
            self._replies.add(segment.reply, prompt, speech.frames)
        took_s = time.perf_counter() - began_at
        LEAD.labels(_INFO.name).observe(edges.dropped / SAMPLE_RATE_HZ)
        INFERENCE.labels(_INFO.name).observe(took_s)
        RTF.labels(_INFO.name).observe(took_s * SAMPLE_RATE_HZ / speech.samples)

    async def close(self) -> None:
        """Free the model and the codec."""
        if self._restart is not None:
            self._restart.cancel()
            await asyncio.wait([self._restart])
        await self._source.close()
        await self._codec.close()

    def _begin(self, segment: Segment, prompt: Prompt, voice: VoiceMemory) -> OrpheusSpeech:
        if self._options.keep_prosody:
            prompt = self._replies.prompt_behind(segment.reply, prompt)
        lead = voice.lead if self._options.give_silence else ()
        codec = self._codec.stream()
        return OrpheusSpeech(prompt, self._source, codec, self._options.stall_s, lead)

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
                raise EngineRestarting(
                    "orpheus: the voice model's process ended; it is being started again"
                ) from error

    def _start_again(self) -> None:
        if self._restart is None or self._restart.done():
            self._restart = asyncio.create_task(self._restart_source())

    async def _restart_source(self) -> None:
        logger.error("the voice model's process ended; it is started again")
        await self._source.close()
        while True:
            try:
                await self._source.start()
            except EngineFailed:
                logger.exception("the voice model could not be started again")
                await asyncio.sleep(self._options.restart_pause_s)
            else:
                logger.info("the voice model runs again")
                return

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
