"""Tasks side by side: all that they say is shown, one that fails is told, Ctrl-C ends all."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack import CHECKOUT

MAKEFILE = """\
well well-too:
\t@echo all is well
ill:
\t@echo something is wrong; exit 3
late: well
\t@read -r _ <meeting; echo late, but well
ill-at-once:
\t@echo something is wrong at once; echo >meeting; exit 3
waits first-waits:
\t@{python} waits.py $@
"""
WAITS = """\
import signal, sys
task = sys.argv[1]
try:
    # Opened once the other has opened it too: both are there.
    open("meeting", "r" if task == "first-waits" else "w").close()
    print(task, "is there", flush=True)
    signal.pause()
except KeyboardInterrupt:
    print(task, "was interrupted", flush=True)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with tasks of which some wait for each other."""
    (tmp_path / "Makefile").write_text(MAKEFILE.format(python=sys.executable))
    (tmp_path / "waits.py").write_text(WAITS)
    os.mkfifo(tmp_path / "meeting")
    return tmp_path


def started(project: Path, *tasks: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.lanes", "logs", "make", *tasks],
        cwd=project,
        # Without the options of a make that runs these tests.
        env={**os.environ, "PYTHONPATH": str(CHECKOUT), "MAKEFLAGS": ""},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(project: Path, *tasks: str) -> tuple[int, str]:
    lanes = started(project, *tasks)
    said, _ = lanes.communicate(timeout=60)
    return lanes.returncode, said


def test_what_every_lane_says_is_shown(project: Path) -> None:
    status, said = run(project, "late", "ill-at-once")
    assert status != 0
    assert "late, but well" in said
    assert said.index("--- ill-at-once ---") < said.index("something is wrong at once")
    assert said.endswith("Failed: ill-at-once\n")


def test_when_none_fails_all_is_well(project: Path) -> None:
    status, said = run(project, "well", "well-too")
    assert status == 0
    assert said.count("all is well") == 2
    assert "Failed" not in said


def test_the_first_one_that_fails_fails_the_whole(project: Path) -> None:
    status, said = run(project, "ill", "well")
    assert status != 0
    assert "something is wrong" in said
    assert "all is well" in said


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_reaches_all_that_runs(project: Path, number: signal.Signals) -> None:
    lanes = started(project, "first-waits", "waits")
    assert lanes.stdout is not None
    assert lanes.stdout.readline() == "first-waits is there\n"
    lanes.send_signal(number)
    said, _ = lanes.communicate(timeout=60)
    assert lanes.returncode == 128 + number
    # the second may be in the middle of its first line, so that this one does not begin anew
    assert said.count("waits was interrupted") == 2
