"""What engines that are C libraries have in common: one thread, one start, one end."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Generic, TypeVar

from speech_server.errors import EngineFailed
from speech_server.tts.engine import Segment, SpeechChunk, TtsEngineInfo
from speech_server.tts.synthesis_thread import SynthesisThread

Library = TypeVar("Library")


class LibraryEngine(ABC, Generic[Library]):
    """An engine over a C library, which is loaded and called in one thread.

    Args:
        info: what the engine can do.
        open_library: loads the library; raises an OSError where it is missing.
        first_words: what every voice says once while the engine loads.
    """

    def __init__(
        self, info: TtsEngineInfo, open_library: Callable[[], Library], first_words: str
    ) -> None:
        self._info = info
        self._open_library = open_library
        self._first_words = first_words
        self._thread = SynthesisThread(info.name, info.sample_rate_hz)
        self._opened: Library | None = None

    @property
    def info(self) -> TtsEngineInfo:
        """What the engine can do."""
        return self._info

    async def load(self) -> None:
        """Load the library and speak once with every voice.

        Raises:
            EngineFailed: the library or a voice is missing.
        """

        def open_library() -> None:
            self._opened = self._open_library()

        try:
            await self._thread.run(open_library)
        except OSError as error:
            raise EngineFailed(self._missing(error)) from error
        for voice in self._info.voices:
            async with aclosing(self.synthesize(Segment(self._first_words, voice.id))) as chunks:
                async for _ in chunks:
                    await asyncio.sleep(0)

    @abstractmethod
    def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment, as in `TtsEngine`."""

    async def close(self) -> None:
        """Wait for the thread; the library stays loaded."""
        await self._thread.close()

    def _missing(self, error: OSError) -> str:
        """What to say when the library cannot be loaded."""
        return f"{self._info.name}: {error}"

    def _library(self) -> Library:
        """The loaded library.

        Raises:
            EngineFailed: it is not loaded.
        """
        if self._opened is None:
            raise EngineFailed(f"{self._info.name}: the engine is not loaded")
        return self._opened
