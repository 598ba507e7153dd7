"""The whole run: wirings in turns on the same engines, then what a call costs the worker."""

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Final, TypeVar

from rich.console import Console

from bench.call.caller import Turn, calling
from bench.call.engines import REAL, SIMULATED, Engines
from bench.call.plan import Plan
from bench.call.report import Report, Tally
from bench.call.sayings import Saying, Sayings
from bench.call.wirings import EAGER, OURS, STOCK, CallStack, Wiring, call_stack
from bench.call.worker_cost import Cost, CostMeter, tree_pss_bytes
from voice_agent.caller.errors import CallFailed, CallFailure

Item = TypeVar("Item")
_HANG_UP_S: Final = 1.0
"""Between two calls: the agent's process ends beside the next one otherwise."""
_GREET_LIMIT_S: Final = 60.0
"""Longest wait until every call of a step has been greeted; a machine that is full never gets
there, since answering calls takes processes and processes take time."""
_SETTLE_S: Final = 5.0
"""Until the processes of ended calls are gone and new ones wait."""


class Benchmark:
    """One run of `parley bench call`.

    Args:
        sayings: what the callers say.
        plan: how much of it.
        settings: further settings of our stack, by their lower-case name without prefix.
        simulate: whether to run a second table with simulated timings.
        logs: folder that the logs of all processes are left in.
        console: where progress is shown.
    """

    def __init__(
        self,
        sayings: Sayings,
        plan: Plan,
        settings: dict[str, str],
        simulate: bool,
        logs: Path,
        console: Console,
    ) -> None:
        self._sayings = sayings.chosen(plan.turns, plan.beside)
        self._plan = plan
        self._settings = settings
        self._engines = (REAL, SIMULATED) if simulate else (REAL,)
        self._logs = logs
        self._console = console
        self._began_s = time.monotonic()
        self.report = Report(self._conditions())
        """Grows as the run goes on, so that what was measured outlives one that breaks off."""

    async def run(self) -> None:
        """Measure.

        Raises:
            RuntimeError, AssertionError, PeerUnavailable: something did not start.
            OSError, psutil.Error: something ended meanwhile.
        """
        for engines in self._engines:
            wirings = (OURS, EAGER, STOCK) if engines is SIMULATED else (OURS, STOCK)
            self.report.systems |= {one.name: one.description for one in (*wirings, engines)}
            self._console.print(f"starting a stack, engines: {engines.name} …")
            logs = self._logs / engines.name
            with call_stack(engines, self._settings, logs, *wirings[1:]) as stack:
                await self._compare(stack, engines, wirings)
        if self._plan.loads:
            self._console.print("starting a stack without the stock wiring …")
            with call_stack(REAL, self._settings, self._logs / "load") as stack:
                await self._load(stack)

    # --- the wirings, call by call ---

    async def _compare(self, stack: CallStack, engines: Engines, wirings: Sequence[Wiring]) -> None:
        plan, sayings = self._plan, self._sayings
        tallied = [(self.report.tally(engines.name, wiring.name), wiring) for wiring in wirings]
        if plan.warm_up:
            for _, wiring in tallied:
                await self._ask(stack, wiring, sayings.turns[:1], Tally("", ""))
        calls = list(_portions(sayings.turns, plan.turns_per_call))
        beside = zip(
            _portions(sayings.backchannels, plan.beside_per_call),
            _portions(sayings.interruptions, plan.beside_per_call),
            strict=True,
        )
        for number, group in enumerate(_portions(calls, plan.callers)):
            for tally, wiring in _in_turns(tallied, number):
                if self._late(tally.turns):
                    return
                await asyncio.gather(
                    *(self._ask(stack, wiring, portion, tally) for portion in group)
                )
                self._console.print(_line(tally))
        if engines is SIMULATED:
            return  # what stops the agent is not simulated
        for number, (hums, interruptions) in enumerate(beside):
            for tally, wiring in _in_turns(tallied, number):
                if self._late(tally.interruptions):
                    return
                await self._talk_over(stack, wiring, hums, interruptions, tally)

    async def _ask(
        self, stack: CallStack, wiring: Wiring, portion: Sequence[Saying], tally: Tally
    ) -> None:
        """One call with ordinary turns."""
        tally.calls += 1
        try:
            async with calling(stack.ticket(wiring)) as caller:
                for saying in portion:
                    tally.turns.append(await caller.ask(saying))
                    if not caller.connected:
                        tally.failures.append("the agent left")
                        break
        except CallFailed as error:
            tally.failures.append(error.message)
        await asyncio.sleep(_HANG_UP_S)

    async def _talk_over(
        self,
        stack: CallStack,
        wiring: Wiring,
        hums: Sequence[Saying],
        interruptions: Sequence[Saying],
        tally: Tally,
    ) -> None:
        """One call with long answers, into which the caller speaks."""
        tally.calls += 1
        try:
            async with calling(stack.ticket(wiring, long_answers=True)) as caller:
                await caller.provoke(self._sayings.turns[0])
                for hum, interruption in zip(hums, interruptions, strict=True):
                    tally.backchannels.append(await caller.hum(hum))
                    tally.interruptions.append(await caller.interrupt(interruption))
        except CallFailed as error:
            tally.failures.append(error.message)
        await asyncio.sleep(_HANG_UP_S)

    def _late(self, done: Sequence[object]) -> bool:
        """Whether the time is up; what has not been measured at all is measured all the same."""
        limit_s = self._plan.time_limit_s
        late = limit_s is not None and time.monotonic() - self._began_s > limit_s and bool(done)
        if late:
            self.report.notes.append("stopped at the time limit, not at the end of the set")
        return late

    # --- what a call costs ---

    async def _load(self, stack: CallStack) -> None:
        await asyncio.sleep(_SETTLE_S)
        for calls in self._plan.loads:
            try:
                cost = await self._measure_cost(stack, calls)
            except TimeoutError:
                self.report.notes.append(
                    f"{calls} calls at once were not all greeted within {_GREET_LIMIT_S:.0f} s: "
                    "this and every higher step was left out"
                )
                return
            self.report.costs.append(cost)
            self._console.print(
                f"{calls:3} calls  {cost.cpu_cores_per_call:.3f} cores and "
                f"{cost.pss_bytes_per_call / 2**20:.0f} MiB a call, "
                f"machine {100 * cost.machine_busy:.0f} % busy"
            )
            await asyncio.sleep(_SETTLE_S)

    async def _measure_cost(self, stack: CallStack, calls: int) -> Cost:
        """Hold some calls at once; what counts begins when all have been greeted.

        Raises:
            RuntimeError: not one of them was answered.
            TimeoutError: they were not all answered in time.
        """
        idle_pss = await asyncio.to_thread(tree_pss_bytes, stack.worker_pid)
        greeted = [asyncio.Event() for _ in range(calls)]
        begun = asyncio.Event()
        turns: list[Turn] = []
        failures: list[str] = []

        async def hold(number: int) -> None:
            try:
                async with calling(stack.ticket(OURS)) as caller:
                    greeted[number].set()
                    # each caller begins at another place of the set
                    for saying in islice(cycle(self._sayings.turns), number, None):
                        counts = begun.is_set()
                        turn = await caller.ask(saying)
                        if counts:
                            turns.append(turn)
                        if not caller.connected:
                            raise CallFailed(CallFailure.AGENT_LEFT, "the agent left")
            except CallFailed as error:
                failures.append(error.message)
            finally:
                greeted[number].set()

        holding = [asyncio.create_task(hold(number)) for number in range(calls)]
        try:
            async with asyncio.timeout(_GREET_LIMIT_S):
                for event in greeted:
                    await event.wait()
            if len(failures) == calls:
                raise RuntimeError(f"none of {calls} calls was answered: {failures[0]}")
            meter = CostMeter(stack.worker_pid, idle_pss)
            begun.set()
            ended, _ = await asyncio.wait(holding, timeout=self._plan.talk_s)
            for task in ended:
                task.result()
            latencies = Tally("", "", turns=turns).latencies_s()
            on = max(1, calls - len(failures))
            return await asyncio.to_thread(meter.read, on, latencies, len(failures))
        finally:
            for task in holding:
                task.cancel()
            await asyncio.gather(*holding, return_exceptions=True)

    def _conditions(self) -> dict[str, object]:
        plan, sayings = self._plan, self._sayings
        return {
            "callers_at_once": plan.callers,
            "turns_per_call": plan.turns_per_call,
            "turns_asked": len(sayings.turns),
            "voices": sorted({one.voice for one in sayings.turns}),
            "interruptions_asked": len(sayings.interruptions),
            "backchannels_asked": len(sayings.backchannels),
            "engines": [engines.name for engines in self._engines],
            "stack_settings": self._settings,
            "load_average_before": os.getloadavg(),
        }


def _portions(items: Sequence[Item], size: int) -> Iterator[Sequence[Item]]:
    """The items in order, so many at a time."""
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _in_turns(tallied: list[tuple[Tally, Wiring]], number: int) -> list[tuple[Tally, Wiring]]:
    """Who begins changes: what disturbs the machine meanwhile meets all of them."""
    first = number % len(tallied)
    return tallied[first:] + tallied[:first]


def _line(tally: Tally) -> str:
    heard = tally.voice_to_voice_s
    rates = tally.rates()
    shown = f"p50 {1000 * heard.p50:.0f} p95 {1000 * heard.p95:.0f} ms" if heard else "no answer"
    return (
        f"{tally.wiring:8} {len(tally.turns):4} turns  {shown}  "
        f"false cut-offs {100 * (rates['false_cutoff_rate'] or 0):.0f} %"
    )
