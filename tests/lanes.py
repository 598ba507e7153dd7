"""Runs tasks of the Makefile side by side: `python -m tests.lanes FOLDER MAKE TASK TASK…`.

What the first one says is shown as it comes, what the others say whole when all have ended. A task
that fails makes the whole fail once the others have ended too; Ctrl-C ends all of them.
"""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

STOP_TIMEOUT_S: Final = 60.0
"""For a lane that was interrupted: its tests stop the servers that they have started."""


class Interrupted(BaseException):
    """Ctrl-C was pressed, or we were told to end.

    Args:
        number: of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def run_lanes(commands: Mapping[str, Sequence[str | Path]], folder: Path) -> int:
    """Run commands side by side until all have ended, or `Interrupted` is raised.

    Args:
        commands: by the name of the lane.
        folder: where `NAME.log` keeps what a lane says, but for the first.

    Returns:
        The exit status of the first lane, in their order, that failed; 0 when none did; 128 and
        the number of the signal when they were interrupted.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first, *others = commands
    logs = {name: folder / f"{name}.log" for name in others}
    lanes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name in others:
            lanes[name] = _started(commands[name], logs[name])
        lanes[first] = _started(commands[first], None)
        lanes[first].wait()
        for name in others:
            if lanes[name].poll() is None:
                _say(f"Waiting for {name}, which writes {logs[name]}")
            lanes[name].wait()
        status = next((lanes[name].returncode for name in commands if lanes[name].returncode), 0)
    except Interrupted as interrupted:
        _end(lanes)
        status = 128 + interrupted.number
    for name, log in logs.items():
        _say(f"--- {name} ---")
        if log.exists():
            with log.open("rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer)
    failed = [name for name in commands if name in lanes and lanes[name].returncode]
    if failed:
        _say(f"Failed: {', '.join(failed)}")
    return status


def _interrupt(number: int, _: object) -> None:
    raise Interrupted(number)


def _started(command: Sequence[str | Path], log: Path | None) -> subprocess.Popen[bytes]:
    # A session of its own: it can be interrupted with all that it has started, and only by us.
    if log is None:
        return subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
    with log.open("wb") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _end(lanes: Mapping[str, subprocess.Popen[bytes]]) -> None:
    """Interrupt lanes as Ctrl-C does and wait for their end; the second Ctrl-C does not wait."""
    _signal(lanes, signal.SIGINT)
    try:
        for lane in lanes.values():
            lane.wait(STOP_TIMEOUT_S)
    except (Interrupted, subprocess.TimeoutExpired):
        _signal(lanes, signal.SIGKILL)
        for lane in lanes.values():
            lane.wait()


def _signal(lanes: Mapping[str, subprocess.Popen[bytes]], number: int) -> None:
    for lane in lanes.values():
        if lane.poll() is None:
            os.killpg(lane.pid, number)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Run the tasks that the command line names."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    folder, make, *tasks = sys.argv[1:]
    return run_lanes({task: [make, "--no-print-directory", task] for task in tasks}, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
