"""What a server process holds: memory, open files, threads, children. Taken before and after."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import psutil

RSS_MARGIN_BYTES = 48 << 20
"""What the allocators of Python, numpy and the model may keep for later, bytes. An hour of audio as
float32 would be 230 MB, one upload of the tests' longest audio 60 MB."""
THREADS_MARGIN = (os.cpu_count() or 1) + 4
"""asyncio's own pool of threads grows to this by need, and then stays."""
_SETTLE_TIMEOUT_S = 20.0
_LOOPBACK = ("127.", "::1")


@dataclass(frozen=True)
class Footprint:
    """One look at a process."""

    rss: int
    """Bytes."""
    fds: int
    threads: int
    children: int

    @classmethod
    def of(cls, pid: int) -> "Footprint":
        process = psutil.Process(pid)
        with process.oneshot():
            rss, fds, threads = process.memory_info().rss, process.num_fds(), process.num_threads()
        return cls(rss, fds, threads, len(process.children()))

    def excess(self, before: "Footprint") -> str:
        """What is more than it was; empty where nothing is."""
        faults = []
        if self.rss > before.rss + RSS_MARGIN_BYTES:
            faults.append(f"{(self.rss - before.rss) >> 20} MiB of memory")
        if self.fds > before.fds:
            faults.append(f"{self.fds - before.fds} open files")
        if self.threads > before.threads + THREADS_MARGIN:
            faults.append(f"{self.threads - before.threads} threads")
        if self.children > before.children:
            faults.append(f"{self.children - before.children} child processes")
        return ", ".join(faults)


def is_loopback(address: str) -> bool:
    """Whether an IP address is this machine's own and nobody else's."""
    # ::ffff: is how IPv6 sockets write addresses of IPv4
    return address.removeprefix("::ffff:").startswith(_LOOPBACK)


def unpooled_fds(process: psutil.Process) -> int:
    """Open files but for connections to programs of this machine, which are kept in pools."""
    sockets = process.net_connections("inet")
    return process.num_fds() - sum(is_loopback(one.raddr.ip) for one in sockets if one.raddr)


def peak_rss(pid: int) -> int:
    """The most memory that a process has ever held, bytes."""
    (line,) = [
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if "VmHWM" in line
    ]
    return int(line.split()[1]) << 10


async def returned(
    pid: int, before: Footprint, look: Callable[[int], Footprint] = Footprint.of
) -> None:
    """Wait until a process holds no more than before; it learns of dropped connections late.

    Args:
        pid: of the process.
        before: what it may hold.
        look: how that was found out.

    Raises:
        AssertionError: it does not give something back.
    """
    excess = "nothing seen yet"
    try:
        async with asyncio.timeout(_SETTLE_TIMEOUT_S):
            while excess := look(pid).excess(before):  # noqa: ASYNC110
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"left behind: {excess}") from None
