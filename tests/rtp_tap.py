"""Listens in on the sound that livekit-sip sends, where a telephone does not tell what it hears."""

import asyncio
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from tests.isolated_network import ETH_P_ALL, ETH_P_IPV4, UDP

_IP_BYTES, _UDP_BYTES, _RTP_BYTES = 20, 8, 12
"""Lengths of headers; livekit-sip adds nothing to them. Sources: RFC 791, RFC 768, RFC 3550."""
_QUIET = frozenset(range(0x60, 0x80)) | frozenset(range(0xE0, 0x100))
"""Bytes of samples up to 372 of 32768. Source: ITU-T G.711, mu-law."""
_LOUD_BYTES = 80
"""Of a packet's 160, not quiet: speech."""


@contextmanager
def rtp_tap(ports: range) -> Iterator[asyncio.Event]:
    """Watch loopback, over which addresses of one machine talk to each other.

    Args:
        ports: UDP ports that the sound comes from.

    Yields:
        An event, set once there is speech in it.

    Raises:
        PermissionError: not root, of the network namespace or of the machine.
    """
    heard = asyncio.Event()
    loop = asyncio.get_running_loop()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)) as tap:
        tap.setblocking(False)
        tap.bind(("lo", ETH_P_ALL))

        def take() -> None:
            packet, (_, protocol, *_) = tap.recvfrom(2048)
            if protocol == ETH_P_IPV4 and _is_speech(packet, ports):
                heard.set()

        loop.add_reader(tap, take)
        try:
            yield heard
        finally:
            loop.remove_reader(tap)


def _is_speech(packet: bytes, ports: range) -> bool:
    if len(packet) < _IP_BYTES + _UDP_BYTES or packet[9] != UDP:
        return False
    (source,) = struct.unpack_from("!H", packet, _IP_BYTES)
    sound = packet[_IP_BYTES + _UDP_BYTES + _RTP_BYTES :]
    return source in ports and sum(byte not in _QUIET for byte in sound) >= _LOUD_BYTES
