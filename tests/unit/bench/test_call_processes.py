"""Processes of the call bench: how a worker is started, and what one is found to cost."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.call.worker_cost import CostMeter
from bench.call.worker_process import logged_worker

READY = re.compile("registered worker")
ENDS_WHEN_TOLD = """
import signal
def end(*_): raise SystemExit("out of memory")
signal.signal(signal.SIGUSR1, end)
print("registered worker", flush=True)
signal.pause()
"""
BURNS = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "sum(range(10**7)); print(flush=True); input()"],
                         stdin=sys.stdin, stdout=sys.stdout)
child.wait()
"""


def worker(tmp_path: Path, program: str) -> list[str]:
    file = tmp_path / "worker.py"
    file.write_text(program)
    return [sys.executable, str(file)]


def test_a_worker_is_ready_once_it_says_so(tmp_path: Path) -> None:
    command = worker(
        tmp_path, "import signal; print('registered worker', flush=True); signal.pause()"
    )
    with logged_worker(command, os.environ, READY, tmp_path / "log") as running:
        pass
    assert running.process.poll() is not None
    assert (tmp_path / "log").read_text() == "registered worker\n"


def test_a_worker_that_ends_is_told_with_its_last_words(tmp_path: Path) -> None:
    command = worker(tmp_path, "raise SystemExit('no livekit-server')")
    with (
        pytest.raises(RuntimeError, match="no livekit-server"),
        logged_worker(command, os.environ, READY, tmp_path / "log"),
    ):
        pytest.fail("it was taken for ready")


def test_a_worker_that_ends_once_it_was_ready_is_told_as_well(tmp_path: Path) -> None:
    command = worker(tmp_path, ENDS_WHEN_TOLD)
    with logged_worker(command, os.environ, READY, tmp_path / "log") as running:
        running.raise_if_ended()
        running.process.send_signal(signal.SIGUSR1)
        running.process.wait()
        with pytest.raises(RuntimeError, match=r"status 1:\n(.*\n)*out of memory"):
            running.raise_if_ended()


def test_what_children_use_is_the_workers(tmp_path: Path) -> None:
    process = subprocess.Popen(
        worker(tmp_path, BURNS), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        assert process.stdout is not None
        meter = CostMeter(process.pid, idle_pss_bytes=0)
        process.stdout.readline()  # the child has done its work
        cost = meter.read(calls=2, voice_to_voice_s=[0.3], failed_calls=1)
        assert process.stdin is not None
        process.stdin.write(b"\n")
    assert cost.cpu_cores_per_call > 0
    assert cost.pss_bytes_per_call > 0
    assert 0 < cost.machine_busy <= 1
    assert (cost.turns, cost.failed_calls) == (1, 1)
