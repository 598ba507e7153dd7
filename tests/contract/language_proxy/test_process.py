"""A process and its children: what they say, what they die of, and that all of them end."""

import asyncio
import os
import sys

import psutil
import pytest

from language_server.vllm import process as process_module
from language_server.vllm.command import Command
from language_server.vllm.process import VllmProcess
from tests.contract.language_proxy.fake_vllm import until

PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("started", child.pid, flush=True)
"""
FOREVER = "time.sleep(600)\n"


def python(code: str) -> VllmProcess:
    return VllmProcess(Command((sys.executable, "-c", code), dict(os.environ)))


async def child_of(process: VllmProcess) -> psutil.Process:
    assert process.pid is not None
    parent = psutil.Process(process.pid)
    await until(lambda: bool(parent.children()))
    return parent.children()[0]


async def test_a_child_ends_with_its_parent() -> None:
    process = python(PARENT + FOREVER)
    await process.start()
    child = await child_of(process)
    await process.stop()
    assert not child.is_running()
    assert await process.wait() == -15


async def test_a_child_that_outlives_its_parent_is_found() -> None:
    process = python(PARENT + FOREVER)
    await process.start()
    child = await child_of(process)
    process.note_family()
    assert process.pid is not None
    os.kill(process.pid, 9)
    assert await process.wait() == -9
    assert child.is_running()
    await process.stop()
    assert not child.is_running()


async def test_one_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('x', flush=True)\n"
    process = python(code + FOREVER)
    await process.start()
    assert process.pid is not None
    status = psutil.Process(process.pid)
    await until(lambda: 15 in _ignored(status))
    monkeypatch.setattr(process_module, "STOP_S", 0.05)
    await process.stop()
    assert await process.wait() == -9


def _ignored(process: psutil.Process) -> list[int]:
    """Numbers of the signals that a process ignores."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
        mask = next(int(line.split()[1], 16) for line in file if line.startswith("SigIgn"))
    return [number for number in range(1, 32) if mask >> (number - 1) & 1]


async def test_what_it_died_of_is_told() -> None:
    lines = (
        "(APIServer pid=7) INFO Consider `OSError: [Errno 24] Too many open files`",
        "(EngineCore pid=9) ERROR 11-21 17:50:38 [core.py:1] ValueError: To serve at least one:",
        "(EngineCore pid=9) ERROR 11-21 17:50:38 [core.py:1]   give it more blocks",
        "RuntimeError: Engine core initialization failed. See root cause above.",
    )
    code = "".join(f"print({line!r})\n" for line in lines)
    process = python(code + "raise SystemExit(1)\n")
    await process.start()
    assert await process.wait() == 1
    await process.stop()
    assert process.reason() == "ValueError: To serve at least one: give it more blocks"


async def test_nothing_said_is_no_reason() -> None:
    process = python("print('x' * 1_000_000)")
    await process.start()
    await process.wait()
    await process.stop()
    assert process.reason() == ""
    assert asyncio.all_tasks() == {asyncio.current_task()}
