"""The whole run: both paths in turns, calls in a row and at once, then more and more of them."""

import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.call.sayings import UNFINISHED, Saying, Sayings, spread
from bench.phone.both_paths import BothPaths
from bench.phone.ladder import Ladder
from bench.phone.lines import conversation
from bench.phone.narrowband import for_the_line
from bench.phone.plan import Plan
from bench.phone.records import Step
from bench.phone.report import Report
from bench.phone.series import at_once, in_a_row
from bench.phone.stack import CalledStack, called_stack
from voice_agent.caller.errors import CallFailed

_QUESTION: Final = 1
"""Line of the conversation that callers ask where only the answer counts: the opening hours."""


class Benchmark:
    """One run of `parley bench phone`.

    Args:
        sayings: the recorded set of turns.
        plan: how much is measured.
        settings: further settings of our stack, by their lower-case name without prefix.
        logs: folder that the logs of all processes are left in.
        console: where progress is shown.
    """

    def __init__(
        self,
        sayings: Sayings,
        plan: Plan,
        settings: dict[str, str],
        logs: Path,
        console: Console,
    ) -> None:
        finished = [one for one in sayings.turns if one.kind != UNFINISHED]
        self._turns = spread(finished, plan.calls * plan.turns_per_call)
        self._lines = conversation()[: plan.lines]
        self._plan, self._settings = plan, settings
        self._logs, self._console = logs, console
        self._began_s = time.monotonic()
        self.report = Report(self._conditions())
        """Grows as the run goes on, so that what was measured outlives one that breaks off."""

    async def run(self) -> None:
        """Measure.

        Raises:
            RuntimeError, AssertionError, PeerUnavailable, SubprocessError: something did not start.
            OSError, psutil.Error: something ended meanwhile.
        """
        plan, report = self._plan, self.report
        question = for_the_line(conversation()[_QUESTION])
        self._console.print("starting a stack with a telephone …")
        with called_stack(self._settings, self._logs) as stack:
            self._began_s = time.monotonic()
            await self._compare(stack)
            if plan.in_a_row and not self._late("calls in a row"):
                self._console.print(f"{plan.in_a_row} calls in a row …")
                report.in_a_row = await in_a_row(stack, plan.in_a_row)
            if plan.at_once and not self._late("calls at once"):
                self._console.print(f"{plan.at_once} calls at once …")
                report.at_once = await at_once(stack, plan.at_once, question)
            await self._climb(Ladder(stack, question, plan.listen_s))

    async def _compare(self, stack: CalledStack) -> None:
        """The conversation and the recorded set on both paths, call by call."""
        report = self.report
        paths = BothPaths(stack, report.turns)

        async def phone(script: Sequence[Saying]) -> None:
            report.calls.append(await paths.by_phone(script))

        async def browser(script: Sequence[Saying]) -> None:
            try:
                await paths.by_browser(script)
            except CallFailed as error:
                report.notes.append(f"a browser's call broke off: {error.message}")

        await paths.by_phone(())  # warms what the first call of all finds cold
        conversations = [self._lines] * self._plan.conversations
        for number, script in enumerate((*conversations, *self._portions())):
            if self._late("the rest of the turns"):
                return
            # who begins changes: what disturbs the machine meanwhile meets both
            for call in (phone, browser) if number % 2 == 0 else (browser, phone):
                await call(script)
            self._console.print(report.progress())

    async def _climb(self, ladder: Ladder) -> None:
        """Step by step, each tried once more where it was not clean, to the first that is not."""
        for calls in self._plan.ladder:
            for _ in range(2):
                if self._late(f"{calls} calls at once, in the ladder"):
                    return
                step = await (ladder.alone() if calls == 1 else ladder.step(calls))
                self.report.steps.append(step)
                self._console.print(_line(step))
                if step.clean or calls == 1:
                    break
            if not step.clean:
                return

    def _portions(self) -> Iterator[Sequence[Saying]]:
        size = self._plan.turns_per_call
        for start in range(0, len(self._turns), size):
            yield self._turns[start : start + size]

    def _late(self, what: str) -> bool:
        """Whether the time is up; what is left out is noted."""
        limit_s = self._plan.time_limit_s
        late = limit_s is not None and time.monotonic() - self._began_s > limit_s
        if late:
            self.report.notes.append(f"the time was up: {what} left out")
        return late

    def _conditions(self) -> dict[str, object]:
        plan = self._plan
        return {
            "conversation_lines": len(self._lines),
            "conversations": plan.conversations,
            "recorded_turns": len(self._turns),
            "turns_per_call": plan.turns_per_call,
            "calls_in_a_row": plan.in_a_row,
            "calls_at_once": plan.at_once,
            "ladder": plan.ladder,
            "listen_s": plan.listen_s,
            "stack_settings": self._settings,
            "load_average_before": os.getloadavg(),
        }


def _line(step: Step) -> str:
    unclean = sum(not one.clean for one in step.heard)
    return f"{step.calls:3} calls at once  {f'{unclean} heard glitches' if unclean else 'clean'}"
