"""One spoken reply: text in piece by piece, audio out in order, stoppable at any moment.

Text is cut into segments as it comes. One task speaks them one after the other, ahead of the
reader by a bounded amount, so that segment N+1 is made while N is being sent.
"""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from speech_server.audio.pcm import PcmFloat, float_to_int16, int16_to_float
from speech_server.audio.resample import StreamResampler
from speech_server.errors import (
    BadRequest,
    DeadlineExceeded,
    EngineFailed,
    Overloaded,
    PayloadTooLarge,
    SpeechError,
)
from speech_server.metrics import TTFB
from speech_server.tts.engine import Pcm16, Segment, TtsEngine, WordTime
from speech_server.tts.normalise import normalise
from speech_server.tts.segmenter import Segmenter
from speech_server.tts.silence import SilenceTrimmer, pause_after
from speech_server.tts.word_times import WrittenWordTimes

logger = logging.getLogger(__name__)

FIRST_BUFFER_DELAY_S: Final = 0.6
"""Longest wait of text for the end of its clause while nothing of the reply is heard, seconds."""
BUFFER_DELAY_S: Final = 2.0
"""The same once audio is on its way: there is time, and whole sentences sound better."""
STALLED_S: Final = 0.15
"""No text for this long means that the last word is whole, seconds."""
TEXT_IDLE_S: Final = 30.0
"""A reply that waits this long for more text is given up, seconds: it holds a place."""

_LOOK_AHEAD_PIECES: Final = 32
"""Pieces made ahead of the reader, of at most `_PIECE_S` each: about 6 s."""
_PIECE_S: Final = 0.2
"""Longest piece handed out, seconds of audio."""
_MAX_WAITING: Final = 1024
"""Segments and flush marks that may wait; each costs the client a message."""
_CONTEXT_CHARS: Final = 300
"""Text spoken before that an engine is told, characters."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """How a reply is to sound and to be handed out."""

    voice: str
    """Id of one of the engine's voices."""
    sample_rate_hz: int
    """Rate to hand out."""
    speed: float = 1.0
    """Speaking rate, 1.0 is the voice's own."""
    volume: float = 1.0
    """Loudness, 1.0 is the voice's own; what exceeds full scale is clipped."""


@dataclass(frozen=True, slots=True)
class ReplyAudio:
    """A piece of a reply."""

    pcm: Pcm16
    """int16, (samples,), mono, at the delivery's rate."""
    words: tuple[WordTime, ...] = ()
    """Written words of this or the next piece, seconds from the start of the reply."""


@dataclass(frozen=True, slots=True)
class Flushed:
    """All audio of the text before a flush has been handed out."""

    flush_id: int
    """1 for the first flush of a reply."""


ReplyEvent = ReplyAudio | Flushed


class Reply:
    """One reply. Must be made in a running event loop and closed with `aclose`.

    Args:
        engine: speaks the segments.
        delivery: voice, rate and loudness.
        max_chars: longest text of the reply, characters.
        max_buffer_delay_s: longest wait of text for a fuller segment, seconds; 0 speaks every
            pushed text as it is; None takes `FIRST_BUFFER_DELAY_S`, then `BUFFER_DELAY_S`.
    """

    def __init__(
        self,
        engine: TtsEngine,
        delivery: Delivery,
        *,
        max_chars: int,
        max_buffer_delay_s: float | None = None,
    ) -> None:
        self._engine = engine
        self._delivery = delivery
        self._max_chars = max_chars
        self._delay_s = max_buffer_delay_s
        self._rate_hz = engine.info.sample_rate_hz
        self._resampler = StreamResampler(self._rate_hz, delivery.sample_rate_hz)
        self._segmenter = Segmenter()
        self._normalise = partial(
            normalise,
            sounds=engine.info.sounds,
            reads_digits=engine.info.reads_digits,
            language=engine.info.language_of(delivery.voice),
        )
        self._chars = 0
        self._flushes = 0
        self._ended = False
        self._begun_at: float | None = None
        self._pushed_at = 0.0
        self._spoken_samples = 0
        """Audio made so far at the engine's rate, silence cut, samples."""
        self._spoken_text = ""
        self._timer: asyncio.TimerHandle | None = None
        self._work: asyncio.Queue[str | Flushed | None] = asyncio.Queue()
        self._events: asyncio.Queue[ReplyEvent | SpeechError | None] = asyncio.Queue(
            _LOOK_AHEAD_PIECES
        )
        self._task = asyncio.create_task(self._produce())

    @property
    def ended(self) -> bool:
        """Whether `end` was called: no more text is accepted."""
        return self._ended

    def push(self, text: str) -> None:
        """Add text.

        Raises:
            PayloadTooLarge: the reply grows longer than allowed; nothing of `text` is taken.
            BadRequest: the reply has been ended.
        """
        if self._ended:
            raise BadRequest("this context was ended with 'continue: false'; no text may follow")
        if self._chars + len(text) > self._max_chars:
            raise PayloadTooLarge(
                f"text is limited to {self._max_chars} characters, this is"
                f" {self._chars + len(text)}; split it into several requests"
            )
        if not text:
            return
        self._chars += len(text)
        self._pushed_at = time.perf_counter()
        if self._begun_at is None:
            self._begun_at = self._pushed_at
        self._queue(self._segmenter.push(text))
        if self._delay_s == 0:
            self._queue(self._segmenter.flush())
        elif self._timer is None and self._segmenter.waiting:
            self._timer = asyncio.get_running_loop().call_later(self._delay(), self._hurry)

    def flush(self) -> None:
        """Speak all text pushed so far now; `Flushed` follows its audio.

        Raises:
            Overloaded: more flushes wait than are served.
        """
        if self._work.qsize() >= _MAX_WAITING:
            raise Overloaded("too many flushes wait in this context")
        self._queue(self._segmenter.flush())
        self._flushes += 1
        self._work.put_nowait(Flushed(self._flushes))

    def end(self) -> None:
        """Say that no more text follows: what is left is spoken, then the events end."""
        if not self._ended:
            self._ended = True
            self._queue(self._segmenter.flush())
            self._work.put_nowait(None)

    async def events(self) -> AsyncGenerator[ReplyEvent, None]:
        """Yield the reply's audio and marks in order.

        Raises:
            EngineFailed: the engine broke; the reply is over.
            DeadlineExceeded: no text came for `TEXT_IDLE_S`.
        """
        while (event := await self._events.get()) is not None:
            if isinstance(event, SpeechError):
                raise event
            yield event

    async def aclose(self) -> None:
        """Stop speaking at once; safe to call at any time and more than once."""
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._task.cancel()
        await asyncio.wait([self._task])

    def _delay(self) -> float:
        if self._delay_s is not None:
            return self._delay_s
        return BUFFER_DELAY_S if self._spoken_text else FIRST_BUFFER_DELAY_S

    def _hurry(self) -> None:
        """Speak text that has waited long enough for the end of its segment."""
        self._timer = None
        streaming = time.perf_counter() - self._pushed_at < STALLED_S
        self._queue(self._segmenter.hurry(whole_words=streaming))
        if self._segmenter.waiting and not self._ended:
            self._timer = asyncio.get_running_loop().call_later(self._delay(), self._hurry)

    def _queue(self, segments: list[str]) -> None:
        for segment in segments:
            self._work.put_nowait(segment)
        if segments and self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._segmenter.waiting and not self._ended:
                self._timer = asyncio.get_running_loop().call_later(self._delay(), self._hurry)

    async def _produce(self) -> None:
        try:
            while (work := await self._next_work()) is not None:
                if isinstance(work, Flushed):
                    await self._events.put(work)
                else:
                    await self._speak(work)
            await self._hand_out(self._resampler.flush())
            await self._events.put(None)
        except SpeechError as error:
            await self._events.put(error)
        except Exception:
            # The reader waits for this task: whatever broke it, it must hear of it.
            logger.exception("speaking a reply failed", extra={"engine": self._engine.info.name})
            await self._events.put(EngineFailed("text to speech failed on this text"))

    async def _next_work(self) -> str | Flushed | None:
        try:
            async with asyncio.timeout(TEXT_IDLE_S):
                return await self._work.get()
        except TimeoutError as error:
            raise DeadlineExceeded(f"no text came for {TEXT_IDLE_S:.0f} s") from error

    async def _speak(self, text: str) -> None:
        spoken = self._normalise(text)
        if not spoken.speakable:
            return
        segment = Segment(
            spoken.text, self._delivery.voice, self._delivery.speed,
            self._spoken_text[-_CONTEXT_CHARS:], self,
        )  # fmt: skip
        self._spoken_text = f"{self._spoken_text} {spoken.text}"[-_CONTEXT_CHARS:].lstrip()
        trimmer = SilenceTrimmer(self._rate_hz, pause_after(text))
        start = self._spoken_samples
        times = WrittenWordTimes(spoken)
        async with aclosing(self._engine.synthesize(segment)) as chunks:
            async for chunk in chunks:
                pcm = trimmer.push(chunk.pcm)
                words = times.push(chunk.words, (start - trimmer.dropped) / self._rate_hz)
                await self._send(pcm, tuple(words))
        await self._send(trimmer.finish(), tuple(times.finish()))

    async def _send(self, pcm: Pcm16, words: tuple[WordTime, ...]) -> None:
        self._spoken_samples += len(pcm)
        samples = int16_to_float(pcm) * np.float32(self._delivery.volume)
        await self._hand_out(self._resampler.push(samples), words)

    async def _hand_out(self, samples: PcmFloat, words: tuple[WordTime, ...] = ()) -> None:
        pcm = float_to_int16(samples)
        if len(pcm) and self._begun_at is not None:
            TTFB.labels("tts").observe(time.perf_counter() - self._begun_at)
            self._begun_at = None
        step = round(_PIECE_S * self._delivery.sample_rate_hz)
        for start in range(0, max(len(pcm), 1), step):
            piece = ReplyAudio(pcm[start : start + step], words if start == 0 else ())
            if len(piece.pcm) or piece.words:
                await self._events.put(piece)
