"""What calls leave behind: rooms, sockets, open files; and whether the next one is answered."""

import asyncio
import socket
from dataclasses import replace
from pathlib import Path

import psutil

from tests.phone_stack import NUMBER, PhoneStack
from tests.process_footprint import Footprint, is_loopback, returned, unpooled_fds
from tests.softphone import softphone


async def settled(stack: PhoneStack) -> dict[str, Footprint]:
    """Wait until no call is left; return what livekit-sip and the worker hold then."""
    await stack.until_no_room_is_left()
    while listening() != {stack.address}:  # noqa: ASYNC110
        await asyncio.sleep(0.1)
    return {name: held(stack.stack.processes[name]) for name in ("sip", "worker")}


def held(pid: int) -> Footprint:
    """What a process holds, but for connections to our own servers, which it keeps in pools."""
    return replace(Footprint.of(pid), fds=unpooled_fds(psutil.Process(pid)))


async def nothing_is_left(stack: PhoneStack, before: dict[str, Footprint], calls: int = 1) -> None:
    """Wait until calls have left no room, no process, no open socket and no other open file.

    Args:
        stack: the stack.
        before: what its processes held then.
        calls: how many there were; what each of them leaves shows as often, so that fewer files
            are a cache's.
    """
    await settled(stack)
    for name, footprint in before.items():
        allowed = replace(footprint, fds=footprint.fds + calls - 1)
        await returned(stack.stack.processes[name], allowed, held)


def listening() -> set[str]:
    """Addresses that somebody outside this machine could send to now; all of them are ours here."""
    return {
        f"{connection.laddr.ip}:{connection.laddr.port}"
        for connection in psutil.net_connections("inet")
        if connection.laddr
        and not is_loopback(connection.laddr.ip)
        and (connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM)
    }


async def still_answers(stack: PhoneStack, folder: Path) -> None:
    """Call as anybody would, and hear the greeting begin."""
    async with softphone(folder) as phone:
        await phone.dial(f"sip:{NUMBER}@{stack.address}")
        await phone.until_audible()
        await phone.hang_up()
    await stack.until_no_room_is_left()
