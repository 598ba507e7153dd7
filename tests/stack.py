"""The whole stack as a fixture: `parley run` on free ports, in a home folder of its own."""

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import psutil
import pytest
from dotenv import dotenv_values

from voice_agent.settings import DEV_ENV_FILE
from voice_agent.stack.running_stack import STACK_FILE, RunningStack

CHECKOUT = Path(__file__).resolve().parents[1]
PARLEY = Path(sys.executable).with_name("parley")

READY_TIMEOUT_S = 100.0
"""Within pytest's own limit for one test, so that what was said so far is reported."""
STOP_TIMEOUT_S = 60.0
END_OF_OUTPUT = "\0"
"""Comes after the last line that `parley run` says."""

TEST_SETTINGS = {
    "PARLEY_WEB_PORT": "0",
    "PARLEY_LIVEKIT_PORT": "0",
    "PARLEY_LIVEKIT_UDP_PORT": "0",
    "PARLEY_SPEECH_PORT": "0",
    "PARLEY_VOICE_PORT": "0",
    "PARLEY_LANGUAGE_PORT": "0",
    "PARLEY_WORKER_PORT": "0",
    "PARLEY_WORKER_METRICS_PORT": "0",
    # Within our own limit, so that `parley run` can still say what is not ready.
    "PARLEY_READY_TIMEOUT_S": "95",
    # A developer's own model server must not answer in a test.
    "PARLEY_LLM_PROBE": "0",
    # Other tests run beside this one and would go before its models.
    "PARLEY_NICENESS": "0",
}


@dataclass(frozen=True)
class Stack:
    """A running stack: where its parts are, and what they said."""

    web_url: str
    livekit_url: str
    livekit_api_key: str
    livekit_api_secret: str
    speech_url: str
    llm_url: str
    llm_model: str
    worker_url: str
    home: Path
    processes: Mapping[str, int]
    pid: int
    said: tuple[str, ...]
    """What `parley run` itself said up to and with its Ready line."""

    @property
    def database(self) -> Path:
        """SQLite file of the appointments."""
        return self.home / "appointments.db"

    @property
    def log_dir(self) -> Path:
        """Folder with one log file per process."""
        return self.home / "logs"

    @property
    def environment(self) -> dict[str, str]:
        """Environment for a `parley` command that belongs to this stack."""
        return {**clean_environment(), "PARLEY_HOME": str(self.home)}

    def log(self, name: str) -> str:
        """Everything that a process has written."""
        return (self.log_dir / f"{name}.log").read_text()

    def wait_for_log(self, name: str, words: str) -> None:
        """Wait until a process has written a line with these words, from its start on."""
        follow = ["tail", "--lines=+1", "--follow", self.log_dir / f"{name}.log"]
        with subprocess.Popen(follow, stdout=subprocess.PIPE, text=True) as tail:
            try:
                assert tail.stdout is not None
                assert any(words in line for line in tail.stdout)
            finally:
                tail.kill()


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    """One stack for the whole test session; at its end nothing of it is left running."""
    with running_stack(tmp_path_factory.mktemp("parley-home")) as stack:
        yield stack


@contextmanager
def running_stack(home: Path, **settings: str) -> Iterator[Stack]:
    """Run a stack in a home folder; stop it at the end and check that nothing is left.

    Args:
        home: its home folder, which must not hold another one.
        settings: further `PARLEY_*` variables.
    """
    process, lines = start_stack(home, **settings)
    try:
        yield wait_until_ready(process, lines, home)
    except BaseException:
        _report_logs(home)
        raise
    finally:
        left = stop_stack(process)
    assert not left, f"left running: {left}"
    assert not (home / STACK_FILE).exists()


def start_stack(home: Path, **settings: str) -> tuple[subprocess.Popen[str], "queue.Queue[str]"]:
    """Start `parley run`; return it and the queue of the lines it says."""
    process = subprocess.Popen(
        [PARLEY, "run", "--quiet"],
        cwd=home,
        env={**stack_environment(home), **settings},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    threading.Thread(target=_pump, args=(process.stdout, lines), daemon=True).start()
    return process, lines


def wait_until_ready(
    process: subprocess.Popen[str], lines: "queue.Queue[str]", home: Path
) -> Stack:
    """Wait for the Ready line; return the stack, or fail with what was said instead."""
    said: list[str] = []
    while not said or not said[-1].startswith("Ready: "):
        try:
            line = lines.get(timeout=READY_TIMEOUT_S)
        except queue.Empty:
            line = END_OF_OUTPUT
        if line == END_OF_OUTPUT:
            raise AssertionError("the stack did not get ready:\n" + "\n".join(said))
        said.append(line)
    state = RunningStack.model_validate_json((home / STACK_FILE).read_bytes())
    secrets = dotenv_values(home / DEV_ENV_FILE)
    assert state.web_url == said[-1].removeprefix("Ready: ")
    return Stack(
        web_url=state.web_url,
        livekit_url=state.livekit_url,
        livekit_api_key=secrets["LIVEKIT_API_KEY"] or "",
        livekit_api_secret=secrets["LIVEKIT_API_SECRET"] or "",
        speech_url=state.speech_url,
        llm_url=state.llm_url,
        llm_model=state.llm_model,
        worker_url=state.worker_url,
        home=home,
        processes=state.processes,
        pid=process.pid,
        said=tuple(said),
    )


def stop_stack(process: subprocess.Popen[str], number: int = signal.SIGINT) -> list[psutil.Process]:
    """Send the signal to `parley run`, wait for its end; return what it left running."""
    tree = process_tree(process.pid)
    process.send_signal(number)
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    left = still_running(tree)
    for survivor in left:
        survivor.kill()
    return left


def process_tree(pid: int) -> list[psutil.Process]:
    """The process and all that it started."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return []


def still_running(processes: list[psutil.Process], timeout_s: float = 10.0) -> list[psutil.Process]:
    """Those that do not end within the time; one that nobody reaps has ended all the same."""
    _, alive = psutil.wait_procs(
        [process for process in processes if not _is_zombie(process)], timeout=timeout_s
    )
    return [process for process in alive if not _is_zombie(process)]


def clean_environment() -> dict[str, str]:
    """Our environment without settings, so that a developer's own do not change a test."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PARLEY_", "LIVEKIT_")) or name == "PARLEY_LIVEKIT_SERVER_BIN"
    }


def stack_environment(home: Path) -> dict[str, str]:
    """Environment of a stack: free ports, its home folder, this checkout's livekit-server."""
    environment = {**clean_environment(), **TEST_SETTINGS, "PARLEY_HOME": str(home)}
    built = CHECKOUT / ".parley" / "bin" / "livekit-server"
    if built.is_file():
        environment.setdefault("PARLEY_LIVEKIT_SERVER_BIN", str(built))
    return environment


def _pump(stdout: TextIO, lines: "queue.Queue[str]") -> None:
    with stdout:
        for line in stdout:
            lines.put(line.rstrip("\n"))
    lines.put(END_OF_OUTPUT)


def _is_zombie(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _report_logs(home: Path) -> None:
    """Keep the logs where CI and developers look; pytest's own folders are cleaned."""
    artifacts = CHECKOUT / "tests" / "artifacts" / home.name
    shutil.copytree(home / "logs", artifacts, dirs_exist_ok=True)
