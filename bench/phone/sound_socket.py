"""One UDP socket for the sound of a call; arrivals are stamped by the kernel, not by us."""

import asyncio
import socket
import struct
import time
from collections.abc import Callable
from typing import Final

from bench.phone import g711
from bench.phone.rtp import Packet, unpack

_SO_TIMESTAMPNS: Final = 35
"""Stamps every datagram on arrival. Source: Linux, include/uapi/asm-generic/socket.h."""
_STAMP: Final = struct.Struct("@qq")
"""Seconds and nanoseconds of `struct timespec` on 64-bit systems."""
_MAX_BYTES: Final = 2048
_MAX_ANCILLARY_BYTES: Final = 128


class SoundSocket:
    """Sends and receives RTP.

    Args:
        ip: our own address.
        hear: takes each packet with sound and the moment at which it arrived, `time.monotonic`.
    """

    def __init__(self, ip: str, hear: Callable[[Packet, float], None]) -> None:
        self._hear = hear
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._socket.bind((ip, 0))
        # the kernel stamps with the time of day
        self._time_of_day_s = time.time() - time.monotonic()
        asyncio.get_running_loop().add_reader(self._socket, self._receive)

    @property
    def port(self) -> int:
        """Where it listens."""
        port: int = self._socket.getsockname()[1]
        return port

    def send(self, data: bytes, address: tuple[str, int]) -> None:
        """Send a packet at once."""
        self._socket.sendto(data, address)

    def close(self) -> None:
        """Give the socket back."""
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    def _receive(self) -> None:
        while True:
            try:
                data, ancillary, _, _ = self._socket.recvmsg(_MAX_BYTES, _MAX_ANCILLARY_BYTES)
            except BlockingIOError:
                return
            arrived_s = time.monotonic()
            for level, kind, stamp in ancillary:
                if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS):
                    seconds, nanoseconds = _STAMP.unpack(stamp[: _STAMP.size])
                    arrived_s = seconds + nanoseconds / 1e9 - self._time_of_day_s
            packet = unpack(data)
            if packet is not None and packet.payload_type == g711.PAYLOAD_TYPE:
                self._hear(packet, arrived_s)
