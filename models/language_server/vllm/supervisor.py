"""Keeps one vLLM running: starts it, lets requests in, starts it again after a death."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Final, Protocol

from language_server.vllm.metrics import Metrics
from language_server.vllm.replica import Replica

logger = logging.getLogger(__name__)

STEADY_S: Final = 600.0
"""Time in which a copy has to have answered to have all of its restarts again."""


class GaveUp(Exception):
    """A copy of the model does not stay alive; the message says what it died of."""


class Process(Protocol):
    """What is kept running."""

    async def start(self) -> None:
        """Start it."""
        ...

    async def wait(self) -> int:
        """Wait until it has ended; return its exit status."""
        ...

    def note_family(self) -> None:
        """Learn which processes it has started."""
        ...

    async def stop(self) -> None:
        """End it and everything that it started."""
        ...

    def reason(self) -> str:
        """What it said last of an error; empty: nothing."""
        ...


class Supervisor:
    """Runs one copy of the model.

    Args:
        replica: what requests go to.
        new_process: makes the process, not yet started.
        start_timeout_s: longest wait until it is loaded, seconds.
        max_restarts: how often it may die in a row.
        metrics: counts restarts.
    """

    def __init__(
        self,
        replica: Replica,
        new_process: Callable[[], Process],
        *,
        start_timeout_s: float,
        max_restarts: int,
        metrics: Metrics,
    ) -> None:
        self._replica = replica
        self._new_process = new_process
        self._start_timeout_s = start_timeout_s
        self._max_restarts = max_restarts
        self._metrics = metrics

    async def run(self) -> None:
        """Keep it running until cancelled.

        Raises:
            GaveUp: it never became ready, or died too often.
        """
        async with self._replica.connected():
            deaths, has_been_ready = 0, False
            while True:
                began_s = asyncio.get_running_loop().time()
                why = await self._live()
                was_ready = self._replica.ready
                self._replica.down(f"restarting: {why}")
                has_been_ready = has_been_ready or was_ready
                if asyncio.get_running_loop().time() - began_s >= STEADY_S:
                    deaths = 0
                deaths += 1
                if not has_been_ready or deaths > self._max_restarts:
                    raise GaveUp(f"{self._replica.name}: {why}")
                logger.error(
                    "language model died",
                    extra={"replica": self._replica.name, "why": why, "deaths": deaths},
                )
                self._metrics.restarts.labels(self._replica.name).inc()

    async def _live(self) -> str:
        """One life; returns what it ended of. The replica stays marked ready if it ever was."""
        process = self._new_process()
        try:
            await process.start()
        except OSError as error:
            return f"vLLM cannot be started: {error}"
        died = asyncio.create_task(process.wait())
        try:
            async with asyncio.timeout(self._start_timeout_s):
                if await _first(died, self._replica.loaded()) is died:
                    return self._ending(process, died.result())
            process.note_family()
            if await _first(died, self._replica.hung()) is died:
                return self._ending(process, died.result())
            return "vLLM no longer answers"
        except TimeoutError:
            return f"vLLM was not ready after {self._start_timeout_s:g} s"
        finally:
            died.cancel()
            await asyncio.shield(process.stop())

    def _ending(self, process: Process, status: int) -> str:
        how = f"signal {-status}" if status < 0 else f"exit status {status}"
        when = "" if self._replica.ready else " while it loaded the model"
        said = process.reason()
        return f"vLLM ended with {how}{when}" + (f": {said}" if said else "")


async def watch(replica: Replica) -> None:
    """Follow a vLLM that somebody else runs, until cancelled."""
    async with replica.connected():
        while True:
            await replica.loaded()
            await replica.hung()
            replica.down("does not answer")


async def _first(died: asyncio.Task[int], other: Coroutine[Any, Any, None]) -> object:
    """Whichever ends first; the other one is cancelled, but not `died`."""
    task = asyncio.create_task(other)
    try:
        await asyncio.wait({died, task}, return_when=asyncio.FIRST_COMPLETED)
        if died.done():
            return died
        task.result()  # raises what went wrong in it
        return task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
