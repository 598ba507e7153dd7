"""What is known about the stack that runs in a home folder: one lock and one description file."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from voice_agent.stack.errors import StackError

STACK_FILE = "stack.json"
LOCK_FILE = "stack.lock"


class RunningStack(BaseModel):
    """Addresses and processes of a running stack, as `stack.json` in its home folder tells them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    pid: int
    """The `parley run` process."""
    web_url: str
    """The page and the token endpoint."""
    livekit_url: str
    """livekit-server, as a WebSocket URL."""
    speech_url: str
    """The speech server."""
    voice_url: str | None = None
    """The speech server that only speaks; None where one plays both roles."""
    llm_url: str
    """The model server, OpenAI base URL."""
    llm_model: str
    """The model in use."""
    worker_url: str
    """The worker's health page."""
    metrics_url: str | None
    """The worker's Prometheus page; None when off."""
    sip_address: str | None = None
    """livekit-sip, `HOST:PORT`; None where no telephone was asked for."""
    processes: dict[str, int]
    """Process (and group) id of each program."""


def read_running_stack(home: Path) -> RunningStack | None:
    """The stack that runs in this home folder; None when there is none."""
    if not _locked(home):
        return None
    try:
        return RunningStack.model_validate_json((home / STACK_FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def publish(home: Path, stack: RunningStack) -> None:
    """Write the description, whole or not at all."""
    draft = home / f".{STACK_FILE}.{os.getpid()}"
    draft.write_text(stack.model_dump_json(indent=2) + "\n")
    draft.replace(home / STACK_FILE)


@contextmanager
def only_stack(home: Path) -> Iterator[None]:
    """Hold the home folder's lock; the description is removed at the end.

    The lock is the kernel's, so a killed `parley run` leaves none behind.

    Raises:
        StackError: a stack runs in this home folder already.
    """
    home.mkdir(parents=True, exist_ok=True)
    with (home / LOCK_FILE).open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stack = read_running_stack(home)
            where = f" at {stack.web_url} (pid {stack.pid})" if stack else ""
            raise StackError(
                f"Parley already runs here{where}",
                "Stop that one with Ctrl-C, or give this one a folder: PARLEY_HOME=DIR.",
            ) from None
        (home / STACK_FILE).unlink(missing_ok=True)
        try:
            yield
        finally:
            (home / STACK_FILE).unlink(missing_ok=True)


def _locked(home: Path) -> bool:
    try:
        lock = (home / LOCK_FILE).open()
    except OSError:
        return False
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
