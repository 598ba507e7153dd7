"""RTP packets, and what a stream of them has been through. Pure. Source: RFC 3550, section 5.1."""

import struct
from dataclasses import dataclass, field
from typing import Final

_HEADER: Final = struct.Struct("!BBHII")
_VERSION: Final = 2
_CYCLE: Final = 2**16
"""Sequence numbers begin again after so many."""


@dataclass(frozen=True)
class Packet:
    """One packet."""

    payload_type: int
    sequence: int
    """16 bits."""
    timestamp: int
    """Of its first sample, 32 bits."""
    payload: bytes

    def pack(self, source: int) -> bytes:
        """The packet's bytes.

        Args:
            source: SSRC, the sender's number.
        """
        sequence, timestamp = self.sequence % _CYCLE, self.timestamp % 2**32
        first = _VERSION << 6
        return _HEADER.pack(first, self.payload_type, sequence, timestamp, source) + self.payload


def unpack(data: bytes) -> Packet | None:
    """Read a packet; None for what is not RTP."""
    if len(data) < _HEADER.size:
        return None
    first, second, sequence, timestamp, _ = _HEADER.unpack_from(data)
    if first >> 6 != _VERSION:
        return None
    begin, end = _HEADER.size + 4 * (first & 0x0F), len(data)
    if first & 0x10:  # an extension: profile and length in words, then the words
        if end < begin + 4:
            return None
        begin += 4 + 4 * int(struct.unpack_from("!H", data, begin + 2)[0])
    if first & 0x20:  # padding, its length in the last byte
        end -= data[-1]
    if begin > end:
        return None
    return Packet(second & 0x7F, sequence, timestamp, data[begin:end])


@dataclass
class Reception:
    """Counts what has arrived of one stream."""

    received: int = 0
    """Packets, each counted once."""
    duplicates: int = 0
    _last: int = -1
    _missing: set[int] = field(default_factory=set)

    @property
    def lost(self) -> int:
        """Packets between the first and the last one that never came."""
        return len(self._missing)

    def take(self, sequence: int) -> bool:
        """Count a packet.

        Args:
            sequence: its number, 16 bits.

        Returns:
            Whether it follows all that came before: it is neither late nor there already.
        """
        if self._last < 0:
            self._last = sequence
            self.received = 1
            return True
        # the number nearest to the last one that ends in these 16 bits
        ahead = (sequence - self._last + _CYCLE // 2) % _CYCLE - _CYCLE // 2
        number = self._last + ahead
        if ahead > 0:
            self._missing.update(range(self._last + 1, number))
            self._last = number
            self.received += 1
            return True
        if number in self._missing:
            self._missing.remove(number)
            self.received += 1
        else:
            self.duplicates += 1
        return False
