"""Peers and helpers as processes of their own."""

import errno
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Final
from urllib.request import urlopen

_START_TIMEOUT_S: Final = 120.0
_STOP_TIMEOUT_S: Final = 30.0
_PORTS: Final = range(21_000, 30_000)
"""Below those that a kernel gives to who asks for any (Linux: from 32768 on), or somebody's socket
may be given one of ours before its process has it."""
_PORT_ATTEMPTS: Final = 100


class PeerUnavailable(Exception):
    """A peer cannot be run here; the message says why."""


def installed(cache: Path, name: str, packages: Sequence[str]) -> Path:
    """The interpreter of an environment with packages of PyPI, made on first use.

    Args:
        cache: where environments are kept.
        name: of this one.
        packages: what goes into it.

    Raises:
        PeerUnavailable: they cannot be installed.
    """
    folder = cache / name
    python = folder / "bin" / "python"
    if (folder / "installed").is_file():
        return python
    uv = Path(sys.executable).with_name("uv")
    try:
        subprocess.run(
            [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder], check=True
        )
        subprocess.run(
            [uv, "pip", "install", "--quiet", "--python", python, *packages],
            check=True,
            capture_output=True,
            text=True,
            timeout=_START_TIMEOUT_S,
        )
    except (OSError, subprocess.SubprocessError) as error:
        why = getattr(error, "stderr", None) or str(error)
        raise PeerUnavailable(f"{name} cannot be installed: {why.strip()}") from error
    (folder / "installed").touch()
    return python


def version(python: Path, package: str) -> str:
    """Version of a package in an interpreter's environment."""
    found = sorted(python.parents[1].glob(f"lib/*/site-packages/{package.replace('-', '_')}-*"))
    return metadata.PathDistribution(found[-1]).version if found else "unknown version"


@contextmanager
def child(
    command: list[str],
    *,
    stdout: int = subprocess.DEVNULL,
    stderr: int | None = None,
) -> Iterator["subprocess.Popen[str]"]:
    """Run a command in the checkout, without our settings, and end it."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PARLEY_")}
    process = subprocess.Popen(
        command,
        cwd=Path(__file__).resolve().parents[1],
        env=environment | {"HF_HUB_OFFLINE": "1"},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=stderr,
        text=True,
    )
    try:
        yield process
    finally:
        end(process)
        if process.stdout is not None:
            process.stdout.close()


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM, address: str = "127.0.0.1") -> int:
    """A port that nobody has: TCP or, with `SOCK_DGRAM`, UDP, at an address of ours.

    Raises:
        OSError: none was found, or the address is not ours.
    """
    for _ in range(_PORT_ATTEMPTS):
        # Not `random`: tests side by side may have seeded it alike.
        port = secrets.choice(_PORTS)
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind((address, port))
            except OSError as error:
                if error.errno != errno.EADDRINUSE:
                    raise
            else:
                return port
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE), address)


def end(process: "subprocess.Popen[str]") -> None:
    """Ask a process to end, and kill it when it does not."""
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def await_port(port: int, process: "subprocess.Popen[str]", name: str) -> None:
    """Wait until a peer listens.

    Raises:
        PeerUnavailable: nobody does, or the process ended.
    """
    _await(lambda: socket.create_connection(("127.0.0.1", port), 1.0).close(), process, name)


def await_ready(url: str, process: "subprocess.Popen[str]", name: str) -> None:
    """Wait until a peer's engines are loaded: its `/ready` says so.

    Raises:
        PeerUnavailable: they are not, or the process ended.
    """
    _await(lambda: urlopen(f"{url}/ready", timeout=_START_TIMEOUT_S).close(), process, name)


def _await(ask: Callable[[], None], process: "subprocess.Popen[str]", name: str) -> None:
    """Ask again and again, until that raises no `OSError`."""
    give_up_at = time.monotonic() + _START_TIMEOUT_S
    while time.monotonic() < give_up_at and process.poll() is None:
        try:
            ask()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise PeerUnavailable(f"{name} did not start")
