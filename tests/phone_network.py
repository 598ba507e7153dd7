"""Runs the telephone tests in a network of their own: `python -m tests.phone_network [PYTEST…]`.

livekit-sip opens sockets on every interface, whatever it is told, and a softphone and a telephone
exchange that call each other on a developer's own network may meet real ones. So pytest itself is
started inside a network namespace, where all ports are free and nothing can get out.
"""

import os
import shutil
import sys
from pathlib import Path

from tests.isolated_network import ISOLATE, make_network, why_not
from tests.stack import CHECKOUT

INSIDE = "--inside"
MARK = "PARLEY_TEST_NETWORK"
"""Environment variable that tells the tests which network namespace was made for them."""

PROGRAMS = {
    "baresip": "baresip-core",
    "sipp": "sip-tester",
}
"""What the tests call with, and the Debian package that it is in."""

TESTS = sorted((CHECKOUT / "tests" / "e2e").glob("test_phone_*.py"))


def why_no_telephone() -> str | None:
    """Why no telephone can be called here; None when one can."""
    if reason := why_not():
        return reason
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        packages = " ".join(PROGRAMS[program] for program in missing)
        return f"{', '.join(missing)} not installed (Debian: apt-get install {packages})"
    if not any(shutil.which(name) for name in ("redis-server", "valkey-server")):
        return "Redis is not installed (Debian: apt-get install redis-server)"
    if livekit_sip() is None:
        return "livekit-sip is not built; do that: PARLEY_PHONE=1 parley setup"
    return None


def livekit_sip() -> Path | None:
    """The livekit-sip of this machine or of this checkout."""
    built = CHECKOUT / ".parley" / "bin" / "livekit-sip"
    named = os.environ.get("PARLEY_LIVEKIT_SIP_BIN") or shutil.which("livekit-sip")
    return Path(named) if named else built if built.is_file() else None


def is_inside() -> bool:
    """Whether this process runs in the network that was made for the tests."""
    return os.environ.get(MARK) == os.readlink("/proc/self/ns/net")


def main() -> None:
    """Run pytest inside; say why not where that cannot be done."""
    if sys.argv[1:2] == [INSIDE]:
        make_network()
        os.environ[MARK] = os.readlink("/proc/self/ns/net")
        tests = sys.argv[2:] or [str(path) for path in TESTS]
        os.execv(sys.executable, [sys.executable, "-m", "pytest", *tests])
    if reason := why_no_telephone():
        sys.stderr.write(f"The telephone tests are skipped: {reason}\n")
        return
    inside = (*ISOLATE, sys.executable, "-m", "tests.phone_network", INSIDE, *sys.argv[1:])
    os.execvp(inside[0], inside)


if __name__ == "__main__":
    main()
