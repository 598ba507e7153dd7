"""Gathers what all callers want transcribed into batches for one engine. Knows no model.

The engine runs in one worker thread. As soon as it is free it takes whatever somebody waits for:
none of that is held back in the hope of a fuller batch. Urgent work goes first, callers of equal
urgency take turns, and a caller's newer request replaces the older ones that it makes pointless.
Interims and files get calls of their own, short ones, in the time that is to spare (`spare_time`);
interims of different callers that meet while they wait for it share a call.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from enum import IntEnum
from typing import Any, Final

from speech_server.errors import EngineFailed, Overloaded, ShuttingDown
from speech_server.metrics import BATCH_SIZE, DROPPED, INFERENCE, QUEUE_WAIT, RTF
from speech_server.stt.engine import SAMPLE_RATE_HZ, SttEngine, Transcript, Utterance
from speech_server.stt.lane import Lane
from speech_server.stt.recent_latency import RecentLatency
from speech_server.stt.spare_time import SpareTime, Work

logger = logging.getLogger(__name__)

_SERVICE: Final = "stt"


class Priority(IntEnum):
    """How urgent a piece of work is; the lowest number goes first."""

    FINAL = 0
    """A caller waits for this text."""
    PREFLIGHT = 1
    """The caller paused; the text may soon be wanted."""
    INTERIM = 2
    """The caller still speaks; the text is a courtesy."""
    FILE = 3
    """A file: nobody listens live. Waits while live work fills the engine."""


_WORK: Final = {
    Priority.FINAL: Work.URGENT,
    Priority.PREFLIGHT: Work.URGENT,
    Priority.INTERIM: Work.INTERIM,
    Priority.FILE: Work.FILE,
}


class Superseded(Exception):
    """It never ran: a newer request of the same stream made it pointless, or there was no time."""


class Job:
    """One utterance handed to the batcher. Await it for the transcript.

    Awaiting raises `Superseded`, or a `SpeechError`: `EngineFailed`, `ShuttingDown`.
    """

    def __init__(
        self, batcher: "Batcher", utterance: Utterance, stream: Hashable, priority: Priority
    ) -> None:
        self._batcher = batcher
        self._future: asyncio.Future[Transcript] = asyncio.get_running_loop().create_future()
        self._future.add_done_callback(_mark_retrieved)
        self.utterance = utterance
        self.stream = stream
        self.priority = priority
        self.asked_at = batcher.clock()
        self.waiting = True

    def __await__(self) -> Generator[Any, None, Transcript]:
        """Wait for the transcript; a caller that is cancelled meanwhile leaves the job be."""
        return asyncio.shield(self._future).__await__()

    @property
    def done(self) -> bool:
        """Whether it has ended, well or badly."""
        return self._future.done()

    @property
    def failed(self) -> bool:
        """Whether it ended without a transcript."""
        future = self._future
        return future.done() and (future.cancelled() or future.exception() is not None)

    def promote(self, priority: Priority) -> None:
        """Make it more urgent; does nothing once the engine works on it."""
        if self.waiting and priority < self.priority:
            self._batcher.requeue(self, priority)

    def cancel(self) -> None:
        """Give it up: it never runs if it still waits, and its result is dropped if it runs."""
        if self.done:
            return
        self._batcher.forget(self)
        DROPPED.labels(_SERVICE, "cancelled").inc()
        self._future.cancel()

    def set_result(self, transcript: Transcript) -> None:
        """Deliver the transcript, unless it was cancelled."""
        if not self._future.done():
            self._future.set_result(transcript)

    def set_error(self, error: Exception) -> None:
        """Deliver a failure, unless it was cancelled."""
        if not self._future.done():
            self._future.set_exception(error)


def _mark_retrieved(future: "asyncio.Future[Transcript]") -> None:
    """Keep asyncio from warning about a failed job that nobody waits for any more."""
    if not future.cancelled():
        future.exception()


class Batcher:
    """Runs one engine for all streams.

    Args:
        engine: the model; called from one worker thread only, load and close included.
        max_waiting: jobs that may wait at once; beyond that, work is refused as `Overloaded`.
        clock: seconds that only grow; tests bring their own.
    """

    def __init__(
        self, engine: SttEngine, max_waiting: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._engine = engine
        self._max_waiting = max_waiting
        self._waiting = 0
        self._lanes = {priority: Lane[Job]() for priority in Priority}
        self._work = asyncio.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="stt-engine")
        self._loop_task: asyncio.Task[None] | None = None
        self._stopping = False
        self._spare_time = SpareTime()
        self._latency = RecentLatency()

    @property
    def waiting(self) -> int:
        """Jobs that wait for the engine now."""
        return self._waiting

    @property
    def recent_latency_s(self) -> float:
        """From asking for urgent work to its end, in nine of ten streams lately, seconds."""
        return self._latency.p90_s(self.clock())

    async def start(self) -> None:
        """Load the engine and begin to serve; raises what `engine.load` raises."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.load)
        self._loop_task = asyncio.create_task(self._serve(), name="stt-batcher")

    async def stop(self) -> None:
        """Refuse what waits, let the running engine call end, free the engine."""
        self._stopping = True
        for lane in self._lanes.values():
            while (job := lane.pop()) is not None:
                self._dequeued(job)
                job.set_error(ShuttingDown("this server is shutting down; connect to another one"))
        self._work.set()
        if self._loop_task is not None:
            await self._loop_task
        await asyncio.get_running_loop().run_in_executor(self._thread, self._engine.close)
        self._thread.shutdown()

    def submit(self, utterance: Utterance, *, stream: Hashable, priority: Priority) -> Job:
        """Ask for a transcript.

        A stream's waiting interims and preflights are superseded by anything newer that covers
        them: an interim by any, a preflight by a preflight or a final. Finals and file pieces are
        never replaced.

        Args:
            utterance: the audio.
            stream: whose it is; equal streams share one turn.
            priority: how urgent.

        Raises:
            Overloaded: too much waits already and nothing of less urgency could give way.
            ShuttingDown: the batcher has been stopped.
        """
        if self._stopping:
            raise ShuttingDown("this server is shutting down; connect to another one")
        if priority != Priority.FILE:
            self._supersede(stream, priority)
        if self._waiting >= self._max_waiting and not self._make_room(priority):
            raise Overloaded("speech to text: too much work waits; try again shortly")
        job = Job(self, utterance, stream, priority)
        self._enqueue(job)
        return job

    def requeue(self, job: Job, priority: Priority) -> None:
        """Move a waiting job to another priority."""
        self._lanes[job.priority].remove(job)
        job.priority = priority
        self._lanes[priority].put(job)
        self._work.set()

    def forget(self, job: Job) -> None:
        """Take a waiting job out; does nothing to a running one."""
        if job.waiting:
            self._lanes[job.priority].remove(job)
            self._dequeued(job)

    def _enqueue(self, job: Job) -> None:
        self._lanes[job.priority].put(job)
        self._waiting += 1
        self._work.set()

    def _dequeued(self, job: Job) -> None:
        job.waiting = False
        self._waiting -= 1

    def _supersede(self, stream: Hashable, priority: Priority) -> None:
        for stale in (Priority.PREFLIGHT, Priority.INTERIM):
            if priority <= stale:
                for job in self._lanes[stale].take_stream(stream):
                    self._drop(job)

    def _make_room(self, priority: Priority) -> bool:
        """Drop one waiting speculation that is less urgent than `priority`."""
        for speculative in (Priority.INTERIM, Priority.PREFLIGHT):
            if speculative > priority and (job := self._lanes[speculative].pop()) is not None:
                self._drop(job)
                return True
        return False

    def _drop(self, job: Job) -> None:
        self._dequeued(job)
        DROPPED.labels(_SERVICE, "stale").inc()
        job.set_error(Superseded())

    def _next_batch(self) -> list[Job]:
        """What the engine does now: the most urgent kind of work that waits and may run."""
        if batch := self._take(Priority.FINAL, Priority.PREFLIGHT):
            return batch
        if self.clock() >= self._spare_time.interims_at and (batch := self._take_interims()):
            return batch
        return self._take(Priority.FILE)

    def _take(self, *priorities: Priority) -> list[Job]:
        """The longest batch of these that makes nobody wait too long; one job in any case."""
        batch: list[Job] = []
        samples = 0
        for priority in priorities:
            lane = self._lanes[priority]
            while len(batch) < self._engine.info.max_batch_size and (job := lane.peek()):
                samples += len(job.utterance.pcm)
                if batch and not self._spare_time.fits(_WORK[priority], samples):
                    return batch
                lane.pop()
                self._dequeued(job)
                batch.append(job)
        return batch

    def _take_interims(self) -> list[Job]:
        lane = self._lanes[Priority.INTERIM]
        while job := lane.peek():
            if self._spare_time.fits(Work.INTERIM, len(job.utterance.pcm)):
                return self._take(Priority.INTERIM)
            lane.pop()
            self._drop(job)
        return []

    async def _serve(self) -> None:
        while not self._stopping:
            self._work.clear()
            if batch := self._next_batch():
                await self._run(batch)
            else:
                await self._wait_for_work()

    async def _wait_for_work(self) -> None:
        """Until something is asked for, or interims that wait may run."""
        pause_s = None
        if self._lanes[Priority.INTERIM].peek() is not None:
            pause_s = max(0.0, self._spare_time.interims_at - self.clock())
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._work.wait()

    async def _run(self, batch: list[Job]) -> None:
        started = self.clock()
        for job in batch:
            QUEUE_WAIT.labels(_SERVICE).observe(started - job.asked_at)
        BATCH_SIZE.labels(_SERVICE).observe(len(batch))
        results = await asyncio.get_running_loop().run_in_executor(
            self._thread, self._transcribe, [job.utterance for job in batch]
        )
        self._observe(batch, self.clock() - started)
        for job, result in zip(batch, results, strict=True):
            if isinstance(result, Transcript):
                job.set_result(result)
            else:
                job.set_error(result)

    def _observe(self, batch: list[Job], took_s: float) -> None:
        samples = sum(len(job.utterance.pcm) for job in batch)
        INFERENCE.labels(self._engine.info.name).observe(took_s)
        if samples:
            RTF.labels(self._engine.info.name).observe(took_s * SAMPLE_RATE_HZ / samples)
        now_s = self.clock()
        work = _WORK[batch[0].priority]
        self._spare_time.worked(work, samples, took_s, now_s)
        if work is Work.URGENT:
            for job in batch:
                self._latency.add(job.stream, now_s - job.asked_at, now_s)

    def _transcribe(self, batch: list[Utterance]) -> list[Transcript | EngineFailed]:
        """Run the engine (worker thread). When a batch breaks, each member gets its own chance."""
        try:
            results = self._engine.transcribe(batch)
            if len(results) != len(batch):
                raise RuntimeError(f"{len(results)} results for {len(batch)} utterances")
        except Exception as error:
            if len(batch) > 1:
                return [result for one in batch for result in self._transcribe([one])]
            results = [error]
        return [r if isinstance(r, Transcript) else _engine_failed(r) for r in results]


def _engine_failed(cause: Exception) -> EngineFailed:
    logger.error("engine failed on an utterance", exc_info=cause)
    error = EngineFailed("the speech model failed on this utterance")
    error.__cause__ = cause
    return error
