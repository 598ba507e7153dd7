"""Which ports the stack uses, whether they are free, and who has them when they are not."""

import errno
import socket
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal

import psutil

from voice_agent.stack.errors import StackError

LOOPBACK = "127.0.0.1"

Transport = Literal["tcp", "udp", "tcp+udp"]

BIND_ATTEMPTS = 20
"""How many free TCP ports are tried for one whose UDP port is free too."""


@dataclass(frozen=True)
class PortWish:
    """One port that a process of the stack wants.

    Attributes:
        owner: process that will listen, as the user knows it.
        setting: environment variable that changes the port.
        port: the wanted port; 0 for any free one.
        transport: `tcp`, `udp`, or `tcp+udp` for the same number of both.
    """

    owner: str
    setting: str
    port: int
    transport: Transport = "tcp"


def settle_ports(wishes: Iterable[PortWish], *, auto: bool = False) -> dict[str, int]:
    """Decide on every port; nothing is left bound.

    All ports are held until the last one is decided, so no two wishes get the same one.

    Args:
        wishes: the ports wanted.
        auto: take a free port where the wanted one is busy, instead of refusing.

    Returns:
        the port of each wish, by its setting.

    Raises:
        StackError: ports are busy; the message names each, who has it, and the way out.
    """
    settled: dict[str, int] = {}
    busy: list[PortWish] = []
    with ExitStack() as held:
        for wish in sorted(wishes, key=lambda wish: wish.port == 0):
            try:
                holder, port = _hold(wish.port, wish.transport)
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                if not auto:
                    busy.append(wish)
                    continue
                holder, port = _hold(0, wish.transport)
            held.enter_context(holder)
            settled[wish.setting] = port
    if busy:
        raise StackError(_describe(busy), _way_out(busy))
    return settled


def is_free(port: int, transport: Transport = "tcp") -> bool:
    """Whether the port can be bound on loopback now."""
    try:
        holder, _ = _hold(port, transport)
    except OSError:
        return False
    holder.close()
    return True


def holder_of(port: int, transport: Transport = "tcp") -> str | None:
    """Name and pid of the process that listens on the port; None where that cannot be seen."""
    try:
        connections = [
            connection
            for kind in transport.split("+")
            for connection in psutil.net_connections(kind=kind)
        ]
    except (psutil.Error, OSError):
        return None
    for connection in connections:
        datagrams = connection.type == socket.SOCK_DGRAM
        listens = datagrams or connection.status == psutil.CONN_LISTEN
        if connection.laddr and connection.laddr.port == port and listens and connection.pid:
            try:
                name = psutil.Process(connection.pid).name()
            except psutil.Error:
                return f"pid {connection.pid}"
            return f"{name}, pid {connection.pid}"
    return None


def _hold(port: int, transport: Transport) -> tuple[ExitStack, int]:
    """Bind a port, 0 for any free one; return what releases it, and its number."""
    if transport != "tcp+udp":
        probe = _bind(port, transport)
        return _releasing(probe), probe.getsockname()[1]
    for attempt in range(1, BIND_ATTEMPTS + 1):
        stream = _bind(port, "tcp")
        number = stream.getsockname()[1]
        try:
            return _releasing(stream, _bind(number, "udp")), number
        except OSError:
            stream.close()
            if port or attempt == BIND_ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


def _releasing(*probes: socket.socket) -> ExitStack:
    holder = ExitStack()
    for probe in probes:
        holder.enter_context(probe)
    return holder


def _bind(port: int, transport: Transport) -> socket.socket:
    kind = socket.SOCK_STREAM if transport == "tcp" else socket.SOCK_DGRAM
    probe = socket.socket(socket.AF_INET, kind)
    try:
        if transport == "tcp":
            # As the servers do: a port in TIME_WAIT counts as free, a listening one does not.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((LOOPBACK, port))
        if transport == "tcp":
            probe.listen(1)
    except BaseException:
        probe.close()
        raise
    return probe


def _describe(busy: list[PortWish]) -> str:
    lines = []
    for wish in busy:
        holder = holder_of(wish.port, wish.transport)
        taken = f"is in use by {holder}" if holder else "is in use"
        lines.append(f"port {wish.port} ({wish.owner}) {taken}")
    return "; ".join(lines)


def _way_out(busy: list[PortWish]) -> str:
    changes = " ".join(f"{wish.setting}={_suggestion(wish)}" for wish in busy)
    return f"Free it, or choose another: `{changes} make run`, or `parley run --auto-ports`."


def _suggestion(wish: PortWish) -> int:
    """A port a hundred above that is free, so that the numbers keep their family likeness."""
    for port in range(wish.port + 100, 65536, 100):
        if is_free(port, wish.transport):
            return port
    return 0
