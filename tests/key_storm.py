"""Far more keys than a telephone can press, as a capture that sipp plays.

baresip, as telephones do, sends no more than five in a second.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from voice_agent.telephony.keys import key_code

_PCMU, _EVENTS = 0, 101
"""Payload types, as the scenario offers them."""
_PACKET_S = 0.02
_TICKS = 160
"""Samples of a packet, 8 kHz."""
_SILENCE = b"\xff" * _TICKS
_MARK, _END = 0x80, 0x80
_PACKETS_OF_A_KEY = 3
"""The first and two last ones; a real key has some more between them. Source: RFC 4733, 2.5.1."""


def write_capture(path: Path, storm: str, entry: str, *, per_packet: int, rest_s: float) -> None:
    """Write the RTP of a caller: a storm of keys, a pause, an entry at a person's pace, silence.

    Args:
        path: of the file, in libpcap's format.
        storm: keys.
        entry: keys as well.
        per_packet: keys of the storm for each 20 ms.
        rest_s: silence at the end, seconds.
    """
    bursts = [storm[at : at + per_packet] for at in range(0, len(storm), per_packet)]
    pause, gap = 75 * [""], 10 * [""]
    paced = [burst for key in entry for burst in (key, *gap)]
    slots = [*pause, *bursts, *pause, *paced, *round(rest_s / _PACKET_S) * [""]]
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for number, (at_s, rtp) in enumerate(_packets(slots)):
            packet = _ethernet(rtp, number)
            seconds, rest = divmod(round(at_s * 1e6), 1_000_000)
            file.write(struct.pack("<IIII", seconds, rest, len(packet), len(packet)) + packet)


def _packets(slots: list[str]) -> Iterator[tuple[float, bytes]]:
    """Each RTP packet and when it is sent, seconds; a slot is 20 ms with the keys in it."""
    sequence = 0
    for slot, keys in enumerate(slots):
        bodies = [(_PCMU, _SILENCE, slot * _TICKS)]
        for place, key in enumerate(keys):
            began = slot * _TICKS + place
            for part in range(_PACKETS_OF_A_KEY):
                end = _END if part else 0
                body = struct.pack("!BBH", key_code(key), end | 10, _TICKS)
                bodies.append((_EVENTS | (0 if part else _MARK), body, began))
        for place, (kind, body, timestamp) in enumerate(bodies):
            header = struct.pack("!BBHII", 0x80, kind, sequence % 2**16, timestamp, 1)
            sequence += 1
            yield slot * _PACKET_S + place * _PACKET_S / len(bodies), header + body


def _ethernet(payload: bytes, number: int) -> bytes:
    """The frame around it; sipp puts in its own addresses, ports and checksums."""
    udp = struct.pack("!HHHH", 6000, 6000, 8 + len(payload), 0) + payload
    address = bytes((10, 99, 0, 1))
    ip = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(udp), number % 2**16, 0, 64, 17, 0)
    return bytes(12) + b"\x08\x00" + ip + address + address + udp
