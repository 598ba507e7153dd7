"""`python agent.py console --text`: a developer types with the agent, with no livekit-server."""

import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.stack import CHECKOUT, Stack

ANSI = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\s+")
TIMEOUT_S = 30.0
LOCAL_MODES = 3
"""Index in what `tcgetattr` returns."""

pytestmark = pytest.mark.timeout(320)  # the first test of a session starts the stack as well


class Terminal:
    """What a process shows on a terminal of its own, and what is typed there."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._seen = b""

    def wait_for(self, text: str) -> None:
        """Read on until the text is there; line breaks and spaces do not count."""
        wanted = re.sub(rb"\s+", b"", text.encode())
        give_up_at = time.monotonic() + TIMEOUT_S
        while wanted not in ANSI.sub(b"", self._seen):
            left_s = give_up_at - time.monotonic()
            ready, _, _ = select.select([self._fd], [], [], max(0.0, left_s))
            # it redraws its prompt for ever, so there is always something to read
            in_time = bool(ready) and left_s > 0
            assert in_time, self._seen.decode(errors="replace")
            try:
                self._seen += os.read(self._fd, 65_536)
            except OSError as error:  # how a terminal says that its last process has ended
                raise AssertionError(self._seen.decode(errors="replace")) from error

    def type(self, line: str) -> None:
        """Type a line once the console reads single keys: before, it throws away what was typed."""
        give_up_at = time.monotonic() + TIMEOUT_S
        while termios.tcgetattr(self._fd)[LOCAL_MODES] & termios.ICANON:
            assert time.monotonic() < give_up_at, "the console does not read"
            select.select([], [], [], 0.02)  # a terminal tells nobody when its modes change
        os.write(self._fd, line.encode() + b"\r")


@contextmanager
def console(stack: Stack) -> Iterator[Terminal]:
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in stack.environment.items() if not k.startswith("LIVEKIT_")}
    process = subprocess.Popen(
        [sys.executable, "agent.py", "console", "--text"],
        cwd=CHECKOUT / "agent",
        env={
            **environment,
            "PARLEY_SPEECH_URL": stack.speech_url,
            "PARLEY_LLM_URL": stack.llm_url,
            "PARLEY_LLM_MODEL": stack.llm_model,
            "PARLEY_WORKER_PORT": "0",
            "PARLEY_WORKER_METRICS_PORT": "0",
            "TERM": "xterm",
            "COLUMNS": "200",
        },
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    try:
        yield Terminal(ours)
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def test_a_typed_question_is_answered_after_a_tool_was_called(stack: Stack) -> None:
    with console(stack) as terminal:
        terminal.wait_for("Type to talk to your agent")
        terminal.type("What are your opening hours?")
        terminal.wait_for("opening_hours")
        terminal.wait_for("on Friday from eight a.m. to two p.m.")
