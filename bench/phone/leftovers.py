"""What calls leave behind: rooms, processes, open files and ports that were not there before."""

import asyncio
import time
from dataclasses import asdict, dataclass, fields
from typing import Final

import psutil

from bench.phone.stack import CalledStack
from tests.process_footprint import unpooled_fds

_SETTLE_LIMIT_S: Final = 30.0
"""Longest wait for what calls used to be given back; media ports are kept for 5 s."""
_POLL_S: Final = 0.5


@dataclass(frozen=True)
class Held:
    """What the stack holds at one moment, or how much more than before."""

    rooms: int = 0
    processes: int = 0
    files: int = 0
    """Open files and sockets, but for connections between our own programs, which are pooled."""
    ports: int = 0
    """UDP ports."""

    def beyond(self, before: "Held") -> "Held":
        """What is more than it was."""
        return Held(
            **{
                one.name: max(0, getattr(self, one.name) - getattr(before, one.name))
                for one in fields(Held)
            }
        )

    @property
    def nothing(self) -> bool:
        """Whether it is none at all."""
        return not any(asdict(self).values())


async def held(stack: CalledStack) -> Held:
    """Look at the stack; a process that ends meanwhile is left out."""
    rooms = await stack.phones.rooms()
    return await asyncio.to_thread(_held, stack.running.pid, len(rooms))


async def left(stack: CalledStack, before: Held) -> Held:
    """What calls have not given back, once everything has been or the time is up."""
    give_up_s = time.monotonic() + _SETTLE_LIMIT_S
    while not (found := (await held(stack)).beyond(before)).nothing:
        if time.monotonic() >= give_up_s:
            break
        await asyncio.sleep(_POLL_S)
    return found


async def settled(stack: CalledStack) -> Held:
    """Wait until two looks in a row are the same, and no room is there; what is held then."""
    give_up_s = time.monotonic() + _SETTLE_LIMIT_S
    last = await held(stack)
    while time.monotonic() < give_up_s:
        await asyncio.sleep(2 * _POLL_S)
        now = await held(stack)
        if now == last and not now.rooms:
            break
        last = now
    return last


def _held(pid: int, rooms: int) -> Held:
    processes = files = ports = 0
    runner = psutil.Process(pid)
    for process in (runner, *runner.children(recursive=True)):
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            own_files, sockets = unpooled_fds(process), process.net_connections("udp")
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        processes += 1
        files += own_files
        ports += len(sockets)
    return Held(rooms, processes, files, ports)
