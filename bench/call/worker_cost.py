"""What a call costs the worker: processor time and memory of its processes."""

import os
import time
from dataclasses import dataclass
from typing import Any

import psutil

from bench.percentiles import Percentiles


@dataclass(frozen=True)
class Cost:
    """Of some calls at once, over one step."""

    calls: int
    cpu_cores_per_call: float
    """Processor time of the worker and its jobs, seconds for each second and call."""
    pss_bytes_per_call: float
    """Memory of the same, what is shared counted once, less what it took without a call."""
    machine_busy: float
    """Share of all cores in use, by whatever: callers, servers and engines run here too."""
    caller_cores: float
    """Of that, the bench's own process, which plays every caller."""
    voice_to_voice_s: Percentiles | None
    turns: int
    failed_calls: int

    @property
    def saturated(self) -> bool:
        """Whether the machine had nothing left: what callers met then is its limit, not ours."""
        return self.machine_busy >= 0.95


def tree_pss_bytes(pid: int) -> int:
    """Memory of a process and all below it, bytes; a page that several share is counted once."""
    total = 0
    for process in _tree(pid):
        try:
            memory = process.memory_full_info()
        except psutil.NoSuchProcess:
            continue
        total += getattr(memory, "pss", memory.rss)
    return total


class CostMeter:
    """Measures from its making until `read`.

    Args:
        pid: of the worker.
        idle_pss_bytes: what it took without a call.
    """

    def __init__(self, pid: int, idle_pss_bytes: int) -> None:
        self._pid = pid
        self._idle_pss_bytes = idle_pss_bytes
        self._began_s = time.monotonic()
        self._worker = _tree_times(pid)
        self._own = _time_of(psutil.Process(os.getpid()))
        self._machine = psutil.cpu_times()

    def read(self, calls: int, voice_to_voice_s: list[float], failed_calls: int) -> Cost:
        """The differences since the beginning.

        Args:
            calls: that were on all the time.
            voice_to_voice_s: of their turns.
            failed_calls: calls that were not answered, or broke off.
        """
        busy = _busy(self._machine, psutil.cpu_times())
        wall_s = time.monotonic() - self._began_s
        used_s = sum(
            now_s - self._worker.get(process, 0.0)
            for process, now_s in _tree_times(self._pid).items()
        )
        own_s = _time_of(psutil.Process(os.getpid())) - self._own
        pss = tree_pss_bytes(self._pid) - self._idle_pss_bytes
        return Cost(
            calls=calls,
            cpu_cores_per_call=used_s / wall_s / calls,
            pss_bytes_per_call=pss / calls,
            machine_busy=busy,
            caller_cores=own_s / wall_s,
            voice_to_voice_s=Percentiles.of(voice_to_voice_s),
            turns=len(voice_to_voice_s),
            failed_calls=failed_calls,
        )


def _busy(before: Any, now: Any) -> float:
    """Share of the machine's processor time that was not idle between two `psutil.cpu_times`."""
    passed = [later - earlier for earlier, later in zip(before, now, strict=True)]
    idle = now.idle - before.idle
    return 1 - idle / sum(passed) if sum(passed) > 0 else 0.0


def _tree(pid: int) -> list[psutil.Process]:
    root = psutil.Process(pid)
    return [root, *root.children(recursive=True)]


def _tree_times(pid: int) -> dict[int, float]:
    times = {}
    for process in _tree(pid):
        try:
            times[process.pid] = _time_of(process)
        except psutil.NoSuchProcess:
            continue
    return times


def _time_of(process: psutil.Process) -> float:
    used = process.cpu_times()
    return used.user + used.system
