"""Deaths and restarts, with a process and a copy of the model that do what the test says."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from language_server.vllm.admission import Places
from language_server.vllm.metrics import Metrics
from language_server.vllm.replica import Replica
from language_server.vllm.supervisor import STEADY_S, GaveUp, Supervisor
from language_server.vllm.warmth import WarmPrefixes


class FakeProcess:
    """Lives until `die` is called."""

    def __init__(self) -> None:
        self.dead = asyncio.Event()
        self.status = 0
        self.stopped = False
        self.fails_to_start = False

    def die(self, status: int) -> None:
        self.status = status
        self.dead.set()

    async def start(self) -> None:
        if self.fails_to_start:
            raise FileNotFoundError("no such program")

    async def wait(self) -> int:
        await self.dead.wait()
        return self.status

    def note_family(self) -> None:
        pass

    async def stop(self) -> None:
        self.stopped = True

    def reason(self) -> str:
        return "ValueError: out of blocks" if self.status == 1 else ""


class FakeReplica(Replica):
    """Is loaded and hangs when the test says."""

    def __init__(self, metrics: Metrics) -> None:
        super().__init__("vllm-0", "m", Places(1, 0), WarmPrefixes(1), metrics)
        self.may_load, self.hangs = asyncio.Event(), asyncio.Event()
        self.was_ready = asyncio.Event()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        yield

    async def loaded(self) -> None:
        await self.may_load.wait()
        self.ready, self.state = True, "ready"
        self.was_ready.set()

    async def hung(self) -> None:
        await self.hangs.wait()
        self.hangs.clear()


class Run:
    """A supervisor at work."""

    def __init__(self, max_restarts: int = 2, start_timeout_s: float = 60.0) -> None:
        self.metrics = Metrics()
        self.replica = FakeReplica(self.metrics)
        self.processes: list[FakeProcess] = []
        self.new = asyncio.Event()
        self.fails_to_start = False
        self.supervisor = Supervisor(
            self.replica,
            self._make,
            start_timeout_s=start_timeout_s,
            max_restarts=max_restarts,
            metrics=self.metrics,
        )
        self.task = asyncio.create_task(self.supervisor.run())

    def _make(self) -> FakeProcess:
        process = FakeProcess()
        process.fails_to_start = self.fails_to_start
        self.processes.append(process)
        self.new.set()
        return process

    async def ready(self) -> FakeProcess:
        """Let the present process load; return it."""
        await self.new.wait()
        self.new.clear()
        self.replica.may_load.set()
        await self.replica.was_ready.wait()
        self.replica.was_ready.clear()
        return self.processes[-1]

    def restarts(self) -> float:
        value = self.metrics.registry.get_sample_value(
            "language_replica_restarts_total", {"replica": "vllm-0"}
        )
        return value or 0.0


async def end(run: Run) -> None:
    run.task.cancel()
    await asyncio.gather(run.task, return_exceptions=True)


async def test_a_copy_that_dies_is_started_again_and_its_state_told() -> None:
    run = Run()
    first = await run.ready()
    run.replica.may_load.clear()
    first.die(-9)
    await run.new.wait()
    assert first.stopped
    assert not run.replica.ready
    assert run.replica.state == "restarting: vLLM ended with signal 9"
    second = await run.ready()
    assert second is not first
    assert run.restarts() == 1
    await end(run)
    assert second.stopped


async def test_one_that_hangs_is_ended_and_started_again() -> None:
    run = Run()
    first = await run.ready()
    run.replica.hangs.set()
    await run.ready()
    assert first.stopped
    assert run.restarts() == 1
    await end(run)


async def test_one_that_never_loads_is_given_up_at_once_with_the_reason() -> None:
    run = Run()
    await run.new.wait()
    run.processes[0].die(1)
    with pytest.raises(GaveUp, match=r"exit status 1 while it loaded.*ValueError: out of blocks"):
        await run.task
    assert len(run.processes) == 1


async def test_one_that_takes_too_long_is_given_up() -> None:
    run = Run(start_timeout_s=0.01)
    with pytest.raises(GaveUp, match=r"not ready after 0\.01 s"):
        await run.task
    assert run.processes[0].stopped


async def test_one_that_cannot_be_executed_is_given_up() -> None:
    run = Run()
    run.fails_to_start = True
    with pytest.raises(GaveUp, match="cannot be started: no such program"):
        await run.task


async def test_one_that_dies_too_often_is_given_up() -> None:
    run = Run(max_restarts=2)
    for _ in range(3):
        (await run.ready()).die(-6)
    with pytest.raises(GaveUp, match="signal 6"):
        await run.task
    assert run.restarts() == 2


async def test_a_long_life_forgives_earlier_deaths(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    real, shift = loop.time, 0.0
    monkeypatch.setattr(loop, "time", lambda: real() + shift)
    run = Run(max_restarts=1)
    for _ in range(4):
        process = await run.ready()
        shift += STEADY_S
        process.die(-9)
    await run.ready()
    assert run.restarts() == 4
    await end(run)


async def test_a_death_while_it_is_stopped_ends_nothing_else() -> None:
    run = Run()
    process = await run.ready()
    await end(run)
    assert process.stopped
    assert run.task.cancelled()
