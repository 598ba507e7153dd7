"""A network of its own for the bench: livekit-sip opens sockets on every interface.

    python -m bench.phone.network COMMAND…

runs a command in a fresh network namespace, made as the telephone tests make theirs.
"""

import os
import shutil
import sys
from collections.abc import Sequence
from typing import NoReturn

from tests.isolated_network import ISOLATE, make_network, why_not
from tests.phone_network import MARK, is_inside, livekit_sip


def why_no_telephone() -> str | None:
    """Why no telephone can be called here; None when one can."""
    if not is_inside() and (reason := why_not()):
        return reason
    if not any(shutil.which(name) for name in ("redis-server", "valkey-server")):
        return "Redis is not installed (Debian: apt-get install redis-server)"
    if livekit_sip() is None:
        return "livekit-sip is not built; do that: PARLEY_PHONE=1 parley setup"
    return None


def restart_inside(command: Sequence[str]) -> None:
    """Become the same command in a network of its own; returns at once where this is one already.

    Args:
        command: this process's program and its arguments.
    """
    if is_inside():
        return
    inside = (*ISOLATE, sys.executable, "-m", "bench.phone.network", *command)
    os.execvp(inside[0], inside)


def main() -> NoReturn:
    """Make the network and become the command."""
    make_network()
    os.environ[MARK] = os.readlink("/proc/self/ns/net")
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
