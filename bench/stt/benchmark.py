"""The whole run: servers up, recordings decoded as files, then the ramp."""

import os
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Literal

from rich.console import Console

from bench.children import PeerUnavailable
from bench.ramp import ramp
from bench.stt.alone import measure_alone
from bench.stt.offline import decode_offline
from bench.stt.plan import Plan
from bench.stt.recordings import Recording
from bench.stt.report import OURS_FINALS_ONLY, Report
from bench.stt.rounds import Round, run_round
from bench.stt.systems import (
    Engine,
    System,
    parley,
    per_request,
    wyoming,
)

Peers = Literal["none", "best", "all"]
_QUICK_RECORDINGS: Final = 13
"""Recordings for the time of a final that was decoded ahead."""
_OVERHEAD_S: Final = 1.5
"""What a round takes beyond joining and talking: the last finals."""


class _OutOfTime(Exception):
    """The plan's time limit leaves no room for another round."""


class Benchmark:
    """One run of `parley bench stt`.

    Args:
        engine: what every server decodes with.
        recordings: what the callers say.
        plan: steps and durations.
        settings: further settings of our server.
        peers: `best`: the quicker of the usual ways only; `all`: every peer.
        cache: folder for what is made once.
        console: where progress is shown.
    """

    def __init__(
        self,
        engine: Engine,
        recordings: Sequence[Recording],
        plan: Plan,
        settings: dict[str, str],
        peers: Peers,
        cache: Path,
        console: Console,
    ) -> None:
        self._engine = engine
        self._recordings = recordings
        self._plan = plan
        self._settings = settings
        self._peers = peers
        self._cache = cache
        self._console = console
        self._offline: dict[str, str] = {}
        self._began = time.monotonic()
        self.report = Report(self._conditions(), plan.bound_s, {})
        """Grows with every round, so that what was measured outlives a run that breaks off."""

    async def run(self) -> Report:
        """Measure.

        Raises:
            RuntimeError: our server did not start.
            OSError, psutil.Error: a server died meanwhile.
        """
        with ExitStack() as servers, self._console.status("starting the servers …"):
            systems = self._start(servers)
            self.report.systems = {system.name: system.description for system in systems}
            ours = systems[0]
            assert ours.url is not None
            self._console.print("decoding the recorded set as files, then with one caller …")
            self._offline = decode_offline(ours.url, self._recordings)
            assert ours.listen_url is not None
            try:
                self.report.alone = await measure_alone(
                    ours.listen_url, self._heard_alone(), self._offline
                )
            except TimeoutError:
                self.report.notes.append("nothing was measured with one caller: no preflight came")
            try:
                await ramp(
                    {
                        system: self._plan.peer_steps if system.url is None else self._plan.steps
                        for system in systems
                    },
                    self._measure,
                    bound_s=self._plan.bound_s,
                    give_up_s=self._plan.give_up_s,
                    second_chance=self._plan.second_chance,
                )
            except _OutOfTime:
                self.report.notes.append("stopped at the time limit: the ramp is not complete")
        return self.report

    def _heard_alone(self) -> Sequence[Recording]:
        quick = self._plan.time_limit_s is not None
        return self._recordings[:_QUICK_RECORDINGS] if quick else self._recordings

    def _start(self, servers: ExitStack) -> list[System]:
        capacity = 2 * self._plan.steps[-1]
        systems = servers.enter_context(parley(self._engine, capacity, self._settings))
        if not self._plan.finals_only:
            # Interims cost us and nobody else: the comparison left is the harder one.
            systems = [system for system in systems if system.name != OURS_FINALS_ONLY]
        if self._plan.time_limit_s is not None:
            self.report.notes.append(
                "quick: few steps, short rounds, no second chance; ours is compared with interims "
                "on; wyoming-faster-whisper and the other split of threads are left out"
            )
        if self._peers == "none":
            return systems
        if self._engine.name == "moonshine":
            self.report.notes.append("no peer serves Moonshine: ours was measured alone")
            return systems
        threads = self._engine.cpu_threads
        systems.append(servers.enter_context(per_request(self._engine, 1, threads)))
        if self._peers == "all":
            if threads > 1:
                systems.append(servers.enter_context(per_request(self._engine, threads, 1)))
            try:
                systems.append(servers.enter_context(wyoming(self._engine, self._cache)))
            except PeerUnavailable as error:
                self.report.notes.append(str(error))
        return systems

    async def _measure(self, system: System, streams: int) -> Round:
        plan = self._plan
        round_s = plan.join_s + plan.talk_s + _OVERHEAD_S
        spent_s = time.monotonic() - self._began
        if plan.time_limit_s is not None and spent_s + round_s > plan.time_limit_s:
            raise _OutOfTime
        result = await run_round(
            system,
            self._recordings,
            self._offline,
            streams=streams,
            join_s=plan.join_s,
            talk_s=plan.talk_s,
        )
        self.report.rounds.append(result)
        self._console.print(_line(result, plan.bound_s))
        return result

    def _conditions(self) -> dict[str, object]:
        model = self._engine.model
        speech_s = sum(recording.duration_s for recording in self._recordings)
        return {
            "engine": self._engine.name,
            "model": model.name if model else None,
            "device": self._engine.device,
            "cpu_threads": self._engine.cpu_threads,
            "server_settings": self._settings,
            "recordings": len(self._recordings),
            "recording_mean_s": speech_s / len(self._recordings),
            "join_s": self._plan.join_s,
            "talk_s": self._plan.talk_s,
            "load_average_before": os.getloadavg(),
        }


def _line(result: Round, bound_s: float) -> str:
    final = result.final_s
    heard = (
        f"p50 {1000 * final.p50:.0f} p95 {1000 * final.p95:.0f} ms" if final else "nothing heard"
    )
    mark = "[green]✓[/]" if result.within(bound_s) else "[red]✗[/]"
    problems = f"  [red]{'; '.join(result.problems)}[/]" if result.problems else ""
    return f"{mark} {result.system:24} {result.streams:4} callers  {heard}{problems}"
