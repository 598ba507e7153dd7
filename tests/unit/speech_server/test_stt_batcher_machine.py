"""Any order of what may happen to the batcher: nothing is lost, doubled, swapped or starved."""

import asyncio
import gc
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from speech_server.errors import EngineFailed, Overloaded, ShuttingDown
from speech_server.stt.batcher import Job, Priority, Superseded
from speech_server.stt.engine import SttEngineInfo, Transcript, Utterance
from tests.unit.speech_server.stepped_loop import SteppedLoop, stepped_batcher

STREAMS = 4
FINAL, PREFLIGHT, INTERIM, FILE = Priority
SPECULATIVE = {PREFLIGHT, INTERIM}
URGENT = {FINAL, PREFLIGHT}


class BreakableEngine:
    """Hears the number of each utterance, unless it is told to break."""

    def __init__(self, max_batch_size: int) -> None:
        self.info = SttEngineInfo("breakable", "breakable-1", max_batch_size=max_batch_size)
        self.calls: list[list[int]] = []
        self.failing: set[int] = set()
        self.breaks_batches = False
        self.closed = False

    def load(self) -> None:
        pass

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        numbers = [int(utterance.pcm[0]) for utterance in batch]
        self.calls.append(numbers)
        if self.breaks_batches and (len(batch) > 1 or numbers[0] in self.failing):
            raise RuntimeError("the engine broke")
        return [
            ValueError("broken audio") if number in self.failing else Transcript(str(number))
            for number in numbers
        ]

    def close(self) -> None:
        self.closed = True


@dataclass(eq=False)
class Asked:
    """A job, and what is known of it without looking into the batcher."""

    number: int
    stream: int
    job: Job
    entered: int
    """When it came to its present priority."""
    turns: int = 0
    """Jobs of its priority that have been taken since then."""
    most_turns: int = 0
    """How many that may be, if streams take turns."""
    ended: list[str] = field(default_factory=list)


class BatcherMachine(RuleBasedStateMachine):
    @initialize(max_batch_size=st.integers(1, 4), max_waiting=st.integers(1, 10))
    def begin(self, max_batch_size: int, max_waiting: int) -> None:
        self.loop = SteppedLoop()
        self.engine = BreakableEngine(max_batch_size)
        self.max_waiting = max_waiting
        self.batcher, self.worker = stepped_batcher(self.loop, self.engine, max_waiting)
        self.asked: list[Asked] = []
        self.running: list[Asked] = []
        self.waiting: list[Asked] = []
        self.heard_finals: dict[int, list[int]] = {stream: [] for stream in range(STREAMS)}
        self.moment = 0
        self.stopping: asyncio.Task[None] | None = None

    # --- what may happen ----------------------------------------------------------------------

    @rule(asks=st.lists(st.tuples(st.integers(0, STREAMS - 1), st.sampled_from(Priority)),
                        min_size=1, max_size=6))  # fmt: skip
    def submit(self, asks: list[tuple[int, Priority]]) -> None:
        """Several at once: nothing runs in between."""
        submitting = self.loop.create_task(self._submit(asks))
        self._settle()
        submitting.result()

    @precondition(lambda self: self.waiting)
    @rule(which=st.integers(0), priority=st.sampled_from(Priority))
    def promote(self, which: int, priority: Priority) -> None:
        asked = self.waiting[which % len(self.waiting)]
        before = asked.job.priority
        asked.job.promote(priority)
        assert asked.job.priority == min(before, priority)
        if priority < before:
            self._enter(asked)
        self._settle()

    @precondition(lambda self: self.asked)
    @rule(which=st.integers(0))
    def cancel(self, which: int) -> None:
        asked = self.asked[which % len(self.asked)]
        asked.job.cancel()
        if asked in self.waiting:
            self.waiting.remove(asked)
        self._settle()

    @precondition(lambda self: self.worker.busy and self.running)
    @rule(
        failing=st.sets(st.integers(0, 3)),
        breaks=st.booleans(),
        took_s=st.sampled_from((0.0, 0.01, 0.1, 1.0)),
    )
    def end_call(self, failing: set[int], breaks: bool, took_s: float) -> None:
        running, self.running = self.running, []
        self.engine.failing = {a.number for n, a in enumerate(running) if n in failing}
        self.engine.breaks_batches = breaks
        self.engine.calls.clear()
        self.loop.pass_time(took_s)
        self.worker.end_call()
        self._check_calls(running)
        self._settle()
        for asked in running:
            self._check_ended(asked)
        self._check_final_order(running)

    @rule(by_s=st.sampled_from((0.01, 0.1, 1.0, 10.0)))
    def wait(self, by_s: float) -> None:
        self._settle(by_s)

    @precondition(lambda self: self.stopping is None)
    @rule()
    def stop(self) -> None:
        self.stopping = self.loop.create_task(self.batcher.stop())
        refused, self.waiting = self.waiting, []
        self._settle()
        assert all(asked.ended == ["ShuttingDown"] for asked in refused)

    # --- what must hold -----------------------------------------------------------------------

    @invariant()
    def the_batcher_knows_what_waits(self) -> None:
        if not hasattr(self, "batcher"):
            return
        assert self.batcher.waiting == len(self.waiting) <= self.max_waiting
        assert all(asked.job.waiting for asked in self.waiting)

    @invariant()
    def nothing_waits_for_an_idle_engine(self) -> None:
        if hasattr(self, "worker") and any(a.job.priority is not INTERIM for a in self.waiting):
            assert self.worker.busy

    @invariant()
    def nothing_ends_twice(self) -> None:
        for asked in getattr(self, "asked", ()):
            assert len(asked.ended) == asked.job.done, (asked.number, asked.ended)

    def teardown(self) -> None:
        if hasattr(self, "loop"):
            try:
                self._wind_up()
            finally:
                self.loop.close()

    def _wind_up(self) -> None:
        self._settle(by_s=100.0)  # by now, interims have had their time
        while self.running:
            self.end_call(failing=set(), breaks=False, took_s=0.0)
        if self.stopping is None:
            self.stop()
        while self.worker.busy:
            self.worker.end_call()
            self._settle()
        assert self.stopping is not None
        self.stopping.result()
        assert self.engine.closed
        assert self.batcher.waiting == 0
        assert all(len(asked.ended) == 1 for asked in self.asked)
        with pytest.raises(ShuttingDown):
            self.batcher.submit(Utterance(np.zeros(1, np.float32)), stream=0, priority=FINAL)
        assert not asyncio.all_tasks(self.loop)
        self.asked.clear()
        gc.collect(0)
        assert self.loop.unhandled == []

    # --- the model ----------------------------------------------------------------------------

    async def _submit(self, asks: list[tuple[int, Priority]]) -> None:
        for stream, priority in asks:
            self._submit_one(stream, priority)

    def _submit_one(self, stream: int, priority: Priority) -> None:
        self.moment += 1
        utterance = Utterance(np.full(160, self.moment, np.float32))
        replaced = [a for a in self.waiting if a.stream == stream and _replaces(priority, a)]
        kept = [a for a in self.waiting if a not in replaced]
        full = len(kept) >= self.max_waiting
        giving_way = [
            a for a in kept if a.job.priority in SPECULATIVE and a.job.priority > priority
        ]
        try:
            job = self.batcher.submit(utterance, stream=stream, priority=priority)
        except ShuttingDown:
            assert self.stopping
            return
        except Overloaded:
            assert full
            assert not giving_way
            return
        assert not self.stopping
        asked = Asked(self.moment, stream, job, self.moment)
        self.asked.append(asked)
        self._enter(asked)
        dropped = [a for a in self.waiting if a.job.done]
        assert set(replaced) <= set(dropped)
        assert len(dropped) == len(replaced) + full
        assert all(a in replaced or a in giving_way for a in dropped)
        self.waiting = [a for a in self.waiting if a not in dropped] + [asked]
        self.loop.create_task(_follow(asked))

    def _enter(self, asked: Asked) -> None:
        """It comes to a priority: from now on it must have its turn."""
        self.moment += 1
        asked.entered, asked.turns = self.moment, 0
        rivals = [a for a in self.waiting if a.job.priority == asked.job.priority and a != asked]
        before_it = sum(a.stream == asked.stream for a in rivals)
        # Each time one of its stream is taken, every other stream may have had one taken before.
        asked.most_turns = (before_it + 1) * STREAMS

    def _settle(self, by_s: float = 0.0) -> None:
        """Let the batcher act, and check what it has taken."""
        self.loop.pass_time(by_s)
        before = self.waiting
        self.waiting = [a for a in before if a.job.waiting]
        gone = [a for a in before if not a.job.waiting]
        no_time = [a for a in gone if a.job.done]
        assert all(a.job.priority is INTERIM and a.job.failed for a in no_time)
        if taken := [a for a in gone if not a.job.done]:
            assert not self.running, "one call at a time"
            self._check_taken(taken)
            self.running = taken

    def _check_taken(self, taken: list[Asked]) -> None:
        size = self.engine.info.max_batch_size
        priorities = {a.job.priority for a in taken}
        assert len(taken) <= size
        assert priorities <= URGENT or len(priorities) == 1
        urgent_left = [a.job.priority for a in self.waiting if a.job.priority in URGENT]
        assert all(left >= max(priorities) for left in urgent_left), "less urgent work overtook"
        assert not urgent_left or len(taken) == size, "what somebody waits for fills the batch"
        for left in self.waiting:
            same = [a for a in taken if a.job.priority == left.job.priority]
            assert all(a.entered < left.entered for a in same if a.stream == left.stream)
            left.turns += len(same)
            assert left.turns < left.most_turns, "starved by other streams"

    def _check_calls(self, running: list[Asked]) -> None:
        """The engine was given what was taken, and all else once more only where it broke."""
        first, *again = self.engine.calls
        assert Counter(first) == Counter(a.number for a in running)
        broke = self.engine.breaks_batches and len(running) > 1
        assert again == ([[number] for number in first] if broke else [])

    def _check_ended(self, asked: Asked) -> None:
        failed = asked.number in self.engine.failing
        expected = EngineFailed.__name__ if failed else str(asked.number)
        assert asked.ended in ([expected], ["cancelled"])

    def _check_final_order(self, running: list[Asked]) -> None:
        for asked in sorted(running, key=lambda a: a.entered):
            if asked.job.priority is FINAL:
                heard = self.heard_finals[asked.stream]
                assert not heard or heard[-1] < asked.entered
                heard.append(asked.entered)


def _replaces(priority: Priority, old: Asked) -> bool:
    return priority != FILE and old.job.priority in SPECULATIVE and priority <= old.job.priority


async def _follow(asked: Asked) -> None:
    try:
        asked.ended.append((await asked.job).text)
    except asyncio.CancelledError:
        asked.ended.append("cancelled")
    except (Superseded, EngineFailed, ShuttingDown) as error:
        asked.ended.append(type(error).__name__)


TestBatcherMachine = BatcherMachine.TestCase
TestBatcherMachine.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, report_multiple_bugs=False
)
