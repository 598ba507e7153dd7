"""Calls one after another, and what they leave behind: processes, memory, open files, rooms.

    python -m bench.soak --calls 50 --json bench/results/soak.json

Uses the stack that runs on this machine (`PARLEY_HOME`), else one of its own on free ports. Exits 1
when a call got no answer, or when a process, a room or more than a few open files were left.
"""

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import psutil
from dotenv import dotenv_values
from livekit import api

from bench.machine import hardware, versions
from tests.stack import CHECKOUT, PARLEY, clean_environment, running_stack
from voice_agent.settings import DEV_ENV_FILE, home_dir
from voice_agent.stack.running_stack import RunningStack, read_running_stack

QUESTION = CHECKOUT / "tests" / "fixtures" / "conversation" / "2-opening-hours.wav"
CALL_TIMEOUT_S = 110.0
SETTLE_TIMEOUT_S = 60.0
SETTLE_POLL_S = 0.5
WARM_UP_CALLS = 5
"""Calls until every lazily loaded thing is loaded; growth is counted from then on."""
FDS_MARGIN = 8
"""Open files that may come and go: keep-alive connections, a log set aside."""


@dataclass
class Usage:
    """What one program of the stack, with all its processes, uses."""

    processes: int = 0
    rss_bytes: int = 0
    pss_bytes: int = 0
    fds: int = 0


@dataclass
class Census:
    """What the whole stack uses at one moment, by program."""

    programs: dict[str, Usage] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """The sum over all programs."""
        total = Usage()
        for usage in self.programs.values():
            total.processes += usage.processes
            total.rss_bytes += usage.rss_bytes
            total.pss_bytes += usage.pss_bytes
            total.fds += usage.fds
        return total

    def to_json(self) -> dict[str, Any]:
        """As a JSON object, the total beside the programs."""
        programs = {name: asdict(usage) for name, usage in self.programs.items()}
        return {**programs, "total": asdict(self.total)}


@dataclass
class SoakReport:
    """The result: three censuses and what became of the calls."""

    calls: int
    before: Census
    warm: Census
    after: Census
    rooms_left: int
    voice_to_voice_s: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    @property
    def growth(self) -> Usage:
        """After the last call, less after the warm-up calls."""
        warm, after = self.warm.total, self.after.total
        return Usage(
            after.processes - warm.processes,
            after.rss_bytes - warm.rss_bytes,
            after.pss_bytes - warm.pss_bytes,
            after.fds - warm.fds,
        )

    @property
    def left_behind(self) -> list[str]:
        """What should not be there, in words; empty when the calls left nothing."""
        left = []
        if self.growth.processes > 0:
            left.append(f"{self.growth.processes} processes")
        if self.growth.fds > FDS_MARGIN:
            left.append(f"{self.growth.fds} open files")
        if self.rooms_left:
            left.append(f"{self.rooms_left} rooms")
        return left

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        latencies = self.voice_to_voice_s
        return {
            "ok": not self.failures and not self.left_behind,
            "calls": self.calls,
            "failures": self.failures,
            "left_behind": self.left_behind,
            "rooms_left": self.rooms_left,
            "voice_to_voice_p50_s": statistics.median(latencies) if latencies else None,
            "voice_to_voice_max_s": max(latencies, default=None),
            "growth_since_warm_up": asdict(self.growth),
            "before": self.before.to_json(),
            "warm": self.warm.to_json(),
            "after": self.after.to_json(),
        }


def take_census(stack: RunningStack) -> Census:
    """Count the stack's processes; one that ends meanwhile is left out."""
    names = {pid: name for name, pid in stack.processes.items()}
    census = Census()
    runner = psutil.Process(stack.pid)
    for process in [runner, *runner.children(recursive=True)]:
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            memory = process.memory_full_info()
            fds = process.num_fds()
            name = names.get(os.getpgid(process.pid), "run")
        except (psutil.NoSuchProcess, ProcessLookupError):
            continue
        usage = census.programs.setdefault(name, Usage())
        usage.processes += 1
        usage.rss_bytes += memory.rss
        usage.pss_bytes += getattr(memory, "pss", memory.rss)
        usage.fds += fds
    return census


async def list_rooms(stack: RunningStack, home: Path) -> list[str]:
    """Names of the rooms that livekit-server has."""
    secrets = dotenv_values(home / DEV_ENV_FILE)
    url = stack.livekit_url.replace("ws", "http", 1)
    async with api.LiveKitAPI(
        url, secrets["LIVEKIT_API_KEY"], secrets["LIVEKIT_API_SECRET"]
    ) as livekit:
        rooms = await livekit.room.list_rooms(api.ListRoomsRequest())
    return [room.name for room in rooms.rooms]


async def settle(stack: RunningStack, home: Path, processes: int | None = None) -> None:
    """Wait until no call is on and the warm processes are back in number, or the time is up.

    Args:
        stack: the stack.
        home: its home folder.
        processes: number of processes to wait for; None until it has stopped changing.
    """
    last = None
    async with asyncio.timeout(SETTLE_TIMEOUT_S):
        async with httpx.AsyncClient(trust_env=False) as client:
            while True:
                worker = (await client.get(f"{stack.worker_url}/worker")).json()
                count = take_census(stack).total.processes
                quiet = not worker.get("active_jobs") and not await list_rooms(stack, home)
                if quiet and count == (last if processes is None else processes):
                    return
                last = count
                await asyncio.sleep(SETTLE_POLL_S)


async def call_once(home: Path, folder: Path, arguments: Sequence[str | Path]) -> dict[str, Any]:
    """One `parley call`; returns its report.

    Raises:
        RuntimeError: it failed; the message is what it printed.
    """
    report = folder / "call.json"
    process = await asyncio.create_subprocess_exec(
        PARLEY, "call", "--json", report, *arguments,
        env={**clean_environment(), "PARLEY_HOME": str(home)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(process.communicate(), CALL_TIMEOUT_S)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        raise RuntimeError(output.decode("utf-8", "replace")[-2000:])
    return dict(json.loads(report.read_text()))


async def soak(
    stack: RunningStack,
    home: Path,
    calls: int,
    arguments: Sequence[str | Path] = (QUESTION,),
    warm_up: int = WARM_UP_CALLS,
) -> SoakReport:
    """Make the calls one after another and count before, after the warm-up, and after the last.

    Args:
        stack: the stack to call.
        home: its home folder.
        calls: number of calls, the warm-up among them.
        arguments: what each caller says: arguments of `parley call`.
        warm_up: number of calls before growth is counted, less than `calls`.
    """
    await settle(stack, home)
    before = warm = take_census(stack)
    report = SoakReport(calls, before, warm, before, rooms_left=0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(1, calls + 1):
            try:
                result = await call_once(home, Path(folder), arguments)
            except (RuntimeError, TimeoutError) as error:
                report.failures.append(f"call {number}: {error}")
                continue
            turns = [turn["voice_to_voice_s"] for turn in result["turns"]]
            report.voice_to_voice_s += [latency for latency in turns if latency is not None]
            if number == warm_up:
                await _settle_or_go_on(stack, home, before.total.processes)
                report.warm = take_census(stack)
            print(f"call {number}/{calls}: {turns}", file=sys.stderr, flush=True)
    await _settle_or_go_on(stack, home, before.total.processes)
    report.after = take_census(stack)
    report.rooms_left = len(await list_rooms(stack, home))
    return report


async def _settle_or_go_on(stack: RunningStack, home: Path, processes: int) -> None:
    """What has not gone by then is what is counted."""
    try:
        await settle(stack, home, processes)
    except TimeoutError:
        print("the stack has not come to rest; counting all the same", file=sys.stderr)


@contextmanager
def _stack_to_call() -> Iterator[tuple[RunningStack, Path]]:
    home = home_dir().resolve()
    if (running := read_running_stack(home)) is not None:
        yield running, home
        return
    with tempfile.TemporaryDirectory() as folder:
        own = Path(folder) / "home"
        own.mkdir()
        with running_stack(own):
            started = read_running_stack(own)
            assert started is not None
            yield started, own


def main() -> int:
    """Parse the command line, soak, print the report as JSON."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # ends the stack too
    parser = argparse.ArgumentParser(description="Calls one after another; what do they leave?")
    parser.add_argument("--calls", type=int, default=50)
    parser.add_argument("--json", type=Path, help="write the report here as well")
    parser.add_argument("arguments", nargs="*", default=[QUESTION], help="for `parley call`")
    options = parser.parse_args()
    with _stack_to_call() as (stack, home):
        warm_up = min(WARM_UP_CALLS, max(options.calls - 1, 0))
        report = asyncio.run(soak(stack, home, options.calls, options.arguments, warm_up))
    record = report.to_json() | {
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "hardware": hardware(),
        "versions": versions(["parley", "livekit", "livekit-agents", "moonshine-voice"]),
    }
    text = json.dumps(record, indent=2)
    print(text)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(text + "\n")
    return 0 if record["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
