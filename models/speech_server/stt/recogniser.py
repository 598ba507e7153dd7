"""What the routes of the role share: the engine behind its batcher, admission and settings."""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from speech_server.admission import Admission
from speech_server.errors import EngineFailed, Overloaded
from speech_server.metrics import STREAMS_REFUSED
from speech_server.settings import SpeechServerSettings
from speech_server.stt.batcher import Batcher
from speech_server.stt.engine import SttEngine, SttEngineInfo
from speech_server.stt.vad import load_silero

_WAITING_PER_STREAM = 4
"""A live stream has at most a final, a preflight and an interim waiting; files add a few."""


class Recogniser:
    """One engine, shared by streams and files.

    Args:
        engine: the model, not loaded yet.
        settings: the process's settings.
        clock: seconds that only grow; tests bring their own.
    """

    def __init__(
        self,
        engine: SttEngine,
        settings: SpeechServerSettings,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.settings = settings
        self._engine = engine
        waiting = settings.stt_capacity_streams * _WAITING_PER_STREAM
        self.batcher = Batcher(engine, waiting, clock)
        self._admission = Admission("stt", settings.stt_capacity_streams)
        self._uploads = 0
        self._state = "loading"

    @property
    def info(self) -> SttEngineInfo:
        """What the engine can do; some engines know that only once they are loaded."""
        return self._engine.info

    async def start(self) -> None:
        """Load the models; raises what they raise."""
        try:
            await asyncio.to_thread(load_silero)
            await self.batcher.start()
        except Exception:
            self._state = "failed"
            raise
        self._state = "ready"

    def drain(self) -> None:
        """Refuse new streams."""
        self._admission.drain()

    async def stop(self) -> None:
        """Refuse waiting work and free the engine."""
        await self.batcher.stop()

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Hold one place for a stream or a file.

        Raises:
            Overloaded: all places are taken, the running streams wait too long for their text
                already, or the model still loads.
            EngineFailed: the model could not be loaded.
            ShuttingDown: the server drains.
        """
        if self._state == "loading":
            raise Overloaded("speech to text still loads its model; try again shortly")
        if self._state == "failed":
            raise EngineFailed("speech to text could not load its model; see /ready")
        if self.batcher.recent_latency_s > self.settings.stt_max_latency_s:
            STREAMS_REFUSED.labels("stt").inc()
            raise Overloaded("stt: this server is slow with what it has; try another one, or later")
        with self._admission.admit():
            yield

    @contextmanager
    def receiving_upload(self) -> Iterator[None]:
        """Bound the files that arrive at once, apart from streams: a slow upload blocks no call.

        Raises:
            Overloaded: as many files arrive already, or there would be no place for this one.
            EngineFailed: the model could not be loaded.
            ShuttingDown: the server drains.
        """
        with self.admit():
            pass  # said before the upload, not after it
        if self._uploads >= self.settings.stt_capacity_streams:
            raise Overloaded("speech to text: too many uploads at once; try again shortly")
        self._uploads += 1
        try:
            yield
        finally:
            self._uploads -= 1
