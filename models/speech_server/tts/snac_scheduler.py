"""Which callers' windows are decoded next: those whose audio runs out first.

One window at a time on a CPU; on a GPU as many of equal shape as wait, in one call.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed, Overloaded, SpeechError
from speech_server.tts.snac_decoder import SnacDecoder, check_window
from speech_server.tts.snac_stream import Window

MAX_WAITING: Final = 1024
"""Windows that may wait: more than any machine decodes in time."""


@dataclass(slots=True, eq=False)
class _Waiting:
    """A window that somebody waits for."""

    window: Window
    due_s: float
    audio: "asyncio.Future[PcmFloat]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    @property
    def shape(self) -> tuple[int, int, int]:
        """Windows of equal shape can be decoded in one call."""
        return len(self.window.codes), self.window.left, self.window.right


class WindowScheduler:
    """Decodes the windows of all callers in one thread, by deadline.

    Args:
        decoder: a loaded SNAC; nobody else may call it.
        max_waiting: windows that may wait.
    """

    def __init__(self, decoder: SnacDecoder, max_waiting: int = MAX_WAITING) -> None:
        self._decoder = decoder
        self._max_waiting = max_waiting
        self._waiting: list[_Waiting] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="snac")
        self._work: asyncio.Task[None] | None = None
        self._closed = False

    async def decode(self, window: Window, due_s: float) -> PcmFloat:
        """Decode one window; a caller who stops waiting takes it out of the queue.

        Args:
            window: what to decode.
            due_s: when the caller's audio runs out, on any clock that all callers share.

        Returns:
            float32, (`window.samples`,), 24 kHz.

        Raises:
            EngineFailed: the window is malformed, the model failed on it, or is closed.
            Overloaded: too many windows wait.
        """
        check_window(window)
        if self._closed:
            raise EngineFailed("SNAC: the decoder has been closed")
        if len(self._waiting) >= self._max_waiting:
            raise Overloaded("more speech is being decoded than can be played in time")
        entry = _Waiting(window, due_s)
        self._waiting.append(entry)
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._run())
        try:
            return await entry.audio
        finally:
            if entry in self._waiting:
                self._waiting.remove(entry)

    async def close(self) -> None:
        """Wait for the windows in work; those that wait fail."""
        self._closed = True
        for entry in self._waiting:
            if not entry.audio.done():
                entry.audio.set_exception(EngineFailed("SNAC: the decoder has been closed"))
        self._waiting.clear()
        if self._work is not None:
            await asyncio.wait([self._work])
        await asyncio.to_thread(self._thread.shutdown)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while batch := self._take():
            windows = [entry.window for entry in batch]
            try:
                audio = await loop.run_in_executor(
                    self._thread, self._decoder.decode_batch, windows
                )
            except Exception as error:  # those who wait must be told whatever it was
                failure = error if isinstance(error, SpeechError) else EngineFailed("SNAC failed")
                for entry in batch:
                    if not entry.audio.done():
                        entry.audio.set_exception(failure)
                continue
            for entry, pcm in zip(batch, audio, strict=True):
                if not entry.audio.done():
                    entry.audio.set_result(pcm)

    def _take(self) -> list[_Waiting]:
        """The most urgent window and, where the model gains by it, others of its shape."""
        if not self._waiting:
            return []
        self._waiting.sort(key=lambda entry: entry.due_s)
        first = self._waiting[0]
        alike = [entry for entry in self._waiting if entry.shape == first.shape]
        batch = alike[: self._decoder.max_batch]
        self._waiting = [entry for entry in self._waiting if entry not in batch]
        return batch
