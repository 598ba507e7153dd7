"""A speech-to-text engine for tests that runs only when it is let."""

import asyncio
import threading
from collections.abc import Callable, Sequence

import numpy as np

from speech_server.stt.engine import SttEngineInfo, Transcript, Utterance


def utterance(name: float, samples: int = 160) -> Utterance:
    """Audio that the gated engine "hears" as its first sample."""
    return Utterance(np.full(samples, name, dtype=np.float32))


class GatedEngine:
    """Each call of `transcribe` waits for one `allow`, then hears the value of the samples."""

    def __init__(self, max_batch_size: int = 1) -> None:
        self.info = SttEngineInfo("gated", "gated-1", max_batch_size=max_batch_size)
        self.batches: list[list[float]] = []
        self.answer: Callable[[Utterance], Transcript | Exception] = _hear
        self.closed = False
        self.threads: set[str] = set()
        self.clock_s = 0.0
        """A clock that only this engine moves, by `call_s` a call."""
        self.call_s = 0.0
        self._entered = threading.Semaphore(0)
        self._gate = threading.Semaphore(0)

    def load(self) -> None:
        self.threads.add(threading.current_thread().name)

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        self.threads.add(threading.current_thread().name)
        self.batches.append([round(float(u.pcm[0]), 3) for u in batch])
        self._entered.release()
        self._gate.acquire()
        self.clock_s += self.call_s
        return [self.answer(u) for u in batch]

    def close(self) -> None:
        self.threads.add(threading.current_thread().name)
        self.closed = True

    def allow(self, calls: int = 1) -> None:
        """Let this many calls through."""
        self._gate.release(calls)

    async def entered(self) -> None:
        """Wait until the engine has been called once more."""
        await asyncio.to_thread(self._entered.acquire)


def _hear(heard: Utterance) -> Transcript:
    return Transcript(f"{heard.pcm[0]:g}")
