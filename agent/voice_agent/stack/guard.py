"""Ends the stack's processes when `parley run` itself dies, even by SIGKILL.

A program of its own that needs the standard library alone. It reads commands from standard input,
one a line: `+PGID` (a process group to watch), `-PGID` (it has ended), `!JSON` (a command, as a
list, to run at the end). The other end of the pipe is held by `parley run` only, so the end of
input means that it is gone. Then the leader of every group still watched gets SIGTERM, for it knows
best how to end what it started; after a grace period the whole group gets SIGKILL. It works where
Linux's PR_SET_PDEATHSIG does not: for grandchildren, and on other systems.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

POLL_S = 0.05


def _terminate(leader: int) -> bool:
    """Ask a group's leader to end; False when the whole group has ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(leader, signal.SIGTERM)
    return _signal(leader, 0)


def _signal(group: int, number: int) -> bool:
    """Signal a process group; False when it has ended."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """Watch until the end of input; the first argument is the grace period, seconds."""
    grace_s = float(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    commands: list[list[str]] = []
    for line in sys.stdin:
        if line.startswith("!"):
            commands.append(json.loads(line[1:]))
        elif line.startswith("-"):
            groups.discard(int(line[1:]))
        else:
            groups.add(int(line[1:]))
    alive = {group for group in groups if _terminate(group)}
    deadline = time.monotonic() + grace_s
    while alive and time.monotonic() < deadline:
        time.sleep(POLL_S)
        alive = {group for group in alive if _signal(group, 0)}
    for group in alive:
        _signal(group, signal.SIGKILL)
    for command in commands:
        subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
        )


if __name__ == "__main__":
    main()
