"""SNAC as the Orpheus engine's codec: one decoder for all segments, the most urgent first."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import SAMPLE_RATE_HZ, Frame
from speech_server.tts.snac_decoder import SnacUnavailable, load_snac
from speech_server.tts.snac_scheduler import WindowScheduler
from speech_server.tts.snac_stream import SnacSlices


class SnacCodec:
    """Implements `VoiceCodec`.

    Args:
        folder: SNAC's files; see `load_snac`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._scheduler: WindowScheduler | None = None

    async def start(self) -> None:
        """Load the model and decode once.

        Raises:
            EngineFailed: it cannot be loaded; the message says what to do.
        """
        try:
            decoder = await asyncio.to_thread(load_snac, self._folder)
        except SnacUnavailable as error:
            raise EngineFailed(f"{error} (PARLEY_TTS_SNAC names the directory)") from error
        self._scheduler = WindowScheduler(decoder)

    def stream(self) -> "SnacCodecStream":
        """Begin a segment.

        Raises:
            EngineFailed: the model is not loaded.
        """
        if self._scheduler is None:
            raise EngineFailed("SNAC: the model is not loaded")
        return SnacCodecStream(self._scheduler)

    async def close(self) -> None:
        """Free the model; windows that wait fail."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            await scheduler.close()


class SnacCodecStream:
    """The audio of one segment. Implements `CodecStream`.

    Args:
        scheduler: decodes for all segments.
    """

    def __init__(self, scheduler: WindowScheduler) -> None:
        self._scheduler = scheduler
        self._slices = SnacSlices()
        self._heard_at: float | None = None
        """When the first audio was handed out, and so began to play."""
        self._samples = 0

    async def push(self, frames: Sequence[Frame]) -> list[PcmFloat]:
        """Take frames; see `CodecStream`.

        Raises:
            EngineFailed: the model failed.
            Overloaded: more is being decoded than can be played in time.
        """
        self._slices.push(frames)
        return await self._drain()

    async def flush(self) -> list[PcmFloat]:
        """End the segment; see `CodecStream`.

        Raises:
            EngineFailed: the model failed.
            Overloaded: more is being decoded than can be played in time.
        """
        self._slices.end()
        return await self._drain()

    async def _drain(self) -> list[PcmFloat]:
        pieces = []
        while (window := self._slices.next_window()) is not None:
            pcm = self._slices.take(await self._scheduler.decode(window, self._due_s()))
            if not len(pcm):
                continue
            if self._heard_at is None:
                self._heard_at = time.perf_counter()
            self._samples += len(pcm)
            pieces.append(pcm)
        return pieces

    def _due_s(self) -> float:
        """When what was handed out will have been played, on `time.perf_counter`."""
        if self._heard_at is None:
            return time.perf_counter()
        return self._heard_at + self._samples / SAMPLE_RATE_HZ
