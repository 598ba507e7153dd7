"""A network of its own for telephone calls; `python -m tests.phone_network [PYTEST…]` tests there.

livekit-sip opens sockets on every interface, whatever it is told, and a softphone and a telephone
exchange that call each other on a developer's own network may meet real ones. So pytest itself, or
the bench, is started inside a network namespace, where all ports are free and nothing can get out.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from tests.isolated_network import ISOLATE, make_network, why_not
from tests.stack import CHECKOUT

INSIDE = "--inside"
MARK = "PARLEY_TEST_NETWORK"
"""Environment variable that tells a process which network namespace was made for it."""

PROGRAMS = {
    "baresip": "baresip-core",
    "sipp": "sip-tester",
}
"""What the tests call with, and the Debian package that it is in."""

TESTS = sorted((CHECKOUT / "tests" / "e2e").glob("test_phone_*.py"))


def why_no_telephone() -> str | None:
    """Why no telephone can be called here; None when one can."""
    if not is_inside() and (reason := why_not()):
        return reason
    if not any(shutil.which(name) for name in ("redis-server", "valkey-server")):
        return "Redis is not installed (Debian: apt-get install redis-server)"
    if livekit_sip() is None:
        return "livekit-sip is not built; do that: PARLEY_PHONE=1 parley setup"
    return None


def why_no_callers() -> str | None:
    """Why the tests have nothing to call with; None when they have."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if not missing:
        return None
    packages = " ".join(PROGRAMS[program] for program in missing)
    return f"{', '.join(missing)} not installed (Debian: apt-get install {packages})"


def livekit_sip() -> Path | None:
    """The livekit-sip of this machine or of this checkout."""
    built = CHECKOUT / ".parley" / "bin" / "livekit-sip"
    named = os.environ.get("PARLEY_LIVEKIT_SIP_BIN") or shutil.which("livekit-sip")
    return Path(named) if named else built if built.is_file() else None


def is_inside() -> bool:
    """Whether this process runs in the network that was made for it."""
    return os.environ.get(MARK) == os.readlink("/proc/self/ns/net")


def restart_inside(command: Sequence[str]) -> None:
    """Become the same command in a network of its own; returns at once where this is one already.

    Args:
        command: this process's program and its arguments.
    """
    if not is_inside():
        _become_inside(command)


def _become_inside(command: Sequence[str]) -> NoReturn:
    inside = (*ISOLATE, sys.executable, "-m", "tests.phone_network", INSIDE, *command)
    os.execvp(inside[0], inside)


def main() -> None:
    """Run pytest inside; say why not where that cannot be done."""
    if sys.argv[1:2] == [INSIDE]:
        make_network()
        os.environ[MARK] = os.readlink("/proc/self/ns/net")
        os.execv(sys.argv[2], sys.argv[2:])
    if reason := why_no_telephone() or why_no_callers():
        sys.stderr.write(f"The telephone tests are skipped: {reason}\n")
        return
    tests = sys.argv[1:] or [str(path) for path in TESTS]
    _become_inside([sys.executable, "-m", "pytest", *tests])


if __name__ == "__main__":
    main()
