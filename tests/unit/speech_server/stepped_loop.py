"""An event loop and a worker that move only when a test tells them to: no thread, no time.

Whatever a test does on them happens in the same order on every run, as hypothesis needs it to.
"""

import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor, Future
from typing import Any, TypeVar
from unittest.mock import patch

from speech_server.stt import batcher
from speech_server.stt.batcher import Batcher
from speech_server.stt.engine import SttEngine

T = TypeVar("T")


class _IdleSelector(selectors.DefaultSelector):  # type: ignore[valid-type, misc]
    """Never waits: tells when the loop would."""

    def __init__(self) -> None:
        super().__init__()
        self.rounds = 0
        self.on_idle: Callable[[], None] = lambda: None

    def select(self, timeout: float | None = None) -> Any:
        self.rounds += 1
        events = super().select(0)
        if not events and timeout != 0:
            self.on_idle()
        return events


class SteppedLoop(asyncio.SelectorEventLoop):
    """Runs until it has nothing to do. Its clock stands still but for a nanosecond a round."""

    def __init__(self) -> None:
        self._rounds = _IdleSelector()
        self._now_s = 0.0
        super().__init__(self._rounds)
        self._rounds.on_idle = self.stop
        self.unhandled: list[str] = []
        """What nobody caught; asyncio would only have logged it."""
        self.set_exception_handler(lambda _, context: self.unhandled.append(str(context)))

    def time(self) -> float:
        """The clock of the loop's timers, seconds."""
        return self._now_s + self._rounds.rounds * 1e-9

    def settle(self) -> None:
        """Run everything that can run."""
        self.run_forever()

    def pass_time(self, by_s: float) -> None:
        """Move the clock, and run what waited for it."""
        self._now_s += by_s
        self.settle()

    def finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Run work that ends without waiting for the worker."""
        task = self.create_task(work)
        self.settle()
        assert task.done(), "it waits for something"
        return task.result()


class SteppedWorker(Executor):
    """Stands for the engine's thread: a call is begun by the caller and ended by the test."""

    def __init__(self) -> None:
        self._calls: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    @property
    def busy(self) -> bool:
        """Whether a call is under way."""
        return bool(self._calls)

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._calls.append((future, lambda: fn(*args, **kwargs)))
        return future

    def end_call(self) -> None:
        """Let the oldest call happen and end; the loop learns of it when it runs."""
        future, call = self._calls.popleft()
        try:
            result = call()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(result)


def stepped_batcher(
    loop: SteppedLoop, engine: SttEngine, max_waiting: int
) -> tuple[Batcher, SteppedWorker]:
    """A started batcher whose engine runs in a stepped worker."""
    worker = SteppedWorker()

    async def make() -> Batcher:
        with patch.object(batcher, "ThreadPoolExecutor", lambda *_, **__: worker):
            return Batcher(engine, max_waiting, loop.time)

    made = loop.finish(make())
    starting = loop.create_task(made.start())
    while not starting.done():
        loop.settle()
        if worker.busy:
            worker.end_call()
    starting.result()
    return made, worker
