"""Runs an engine that is not thread-safe: one thread, one segment after the other.

The built-in engines need about a hundredth of real time, so that one thread speaks for dozens of
callers; it never waits for a reader, because a segment's length is bounded.
"""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from speech_server.errors import EngineFailed, SpeechError
from speech_server.metrics import DROPPED, INFERENCE, QUEUE_WAIT, RTF
from speech_server.tts.engine import Pcm16, SpeechChunk, WordTime

_FIRST_SLICE_S = 0.04
"""Audio handed out at once at the start of a segment, seconds."""
_SLICE_S = 0.16
"""Audio handed out at once later, seconds: fewer, larger messages."""
_SHORT_SLICES_UNTIL_S = 0.4
"""Slices stay short for this much audio, seconds: the first of it is silence to be cut."""


class SpeechSink:
    """Where a synthesis in the thread puts its audio, and learns that nobody wants it any more.

    Args:
        sample_rate_hz: rate of the audio.
        loop: the event loop of the reader.
    """

    def __init__(self, sample_rate_hz: int, loop: asyncio.AbstractEventLoop) -> None:
        self._rate_hz = sample_rate_hz
        self._loop = loop
        self._cancelled = threading.Event()
        self._queue: asyncio.Queue[SpeechChunk | SpeechError | None] = asyncio.Queue()
        self._pieces: list[Pcm16] = []
        self._words: list[WordTime] = []
        self._gathered = 0
        self.samples = 0
        """Samples written so far."""

    @property
    def cancelled(self) -> bool:
        """Whether the reader has gone: stop working."""
        return self._cancelled.is_set()

    def write(self, pcm: Pcm16, words: tuple[WordTime, ...] = ()) -> None:
        """Add audio; called in the thread.

        Args:
            pcm: int16, (samples,), of any length.
            words: words that begin in it.
        """
        self._pieces.append(pcm)
        self._words.extend(words)
        self._gathered += len(pcm)
        self.samples += len(pcm)
        early = self.samples < _SHORT_SLICES_UNTIL_S * self._rate_hz
        if self._gathered >= (_FIRST_SLICE_S if early else _SLICE_S) * self._rate_hz:
            self._hand_out()

    def finish(self, error: SpeechError | None = None) -> None:
        """Hand out the rest and end the reading; called in the thread."""
        if error is not None:
            self._put(error)
            return
        if self._gathered:
            self._hand_out()
        self._put(None)

    def cancel(self) -> None:
        """Say that nobody reads any more; called by the reader."""
        self._cancelled.set()

    async def read(self) -> SpeechChunk | None:
        """The next piece; None at the end.

        Raises:
            EngineFailed: the synthesis failed.
        """
        item = await self._queue.get()
        if isinstance(item, SpeechError):
            raise item
        return item

    def _hand_out(self) -> None:
        self._put(SpeechChunk(np.concatenate(self._pieces), tuple(self._words)))
        self._pieces, self._words, self._gathered = [], [], 0

    def _put(self, item: SpeechChunk | SpeechError | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, item)
        except RuntimeError:  # the reader's event loop is closed
            self._cancelled.set()


class SynthesisThread:
    """One worker thread of an engine.

    Args:
        engine: name for metrics and error messages.
        sample_rate_hz: rate of the engine's audio.
    """

    def __init__(self, engine: str, sample_rate_hz: int) -> None:
        self._engine = engine
        self._rate_hz = sample_rate_hz
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"tts-{engine}")

    async def run(self, work: Callable[[], None]) -> None:
        """Do something else in the thread, such as loading."""
        await asyncio.get_running_loop().run_in_executor(self._executor, work)

    async def stream(
        self, speak: Callable[[SpeechSink], None]
    ) -> AsyncGenerator[SpeechChunk, None]:
        """Run one synthesis and yield its audio.

        Args:
            speak: called in the thread; writes to the sink and returns soon after
                `sink.cancelled` is set.

        Raises:
            EngineFailed: `speak` raised, or the thread has been closed.
        """
        sink = SpeechSink(self._rate_hz, asyncio.get_running_loop())
        try:
            job = self._executor.submit(self._run, speak, sink, time.perf_counter())
        except RuntimeError as error:
            raise EngineFailed(f"{self._engine}: the engine has been closed") from error
        try:
            while (chunk := await sink.read()) is not None:
                yield chunk
        finally:
            sink.cancel()
            if job.cancel():
                DROPPED.labels("tts", "cancelled").inc()

    async def close(self) -> None:
        """Drop what waits and wait for what runs."""
        await asyncio.to_thread(self._executor.shutdown, wait=True, cancel_futures=True)

    def _run(self, speak: Callable[[SpeechSink], None], sink: SpeechSink, asked_at: float) -> None:
        began_at = time.perf_counter()
        QUEUE_WAIT.labels("tts").observe(began_at - asked_at)
        try:
            speak(sink)
        except SpeechError as error:
            sink.finish(error)
            return
        except Exception as error:  # the reader must be told whatever it was
            failure = EngineFailed(f"{self._engine}: could not speak this text")
            failure.__cause__ = error
            sink.finish(failure)
            return
        took_s = time.perf_counter() - began_at
        if sink.cancelled:
            DROPPED.labels("tts", "cancelled").inc()
        elif sink.samples:
            INFERENCE.labels(self._engine).observe(took_s)
            RTF.labels(self._engine).observe(took_s * self._rate_hz / sink.samples)
        sink.finish()
