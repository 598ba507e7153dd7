"""A telephone: dials, speaks, and notes when something is heard, to the packet."""

import asyncio
import itertools
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Final

import numpy as np

from bench.phone import g711
from bench.phone.narrowband import thickened, thinned
from bench.phone.rtp import Packet, Reception
from bench.phone.sip_call import SipCall
from bench.phone.sound_socket import SoundSocket
from voice_agent.caller.ear import Ear
from voice_agent.caller.microphone import Microphone
from voice_agent.caller.sound import FRAME_S, FRAME_SAMPLES, Pcm16

PACKET_S: Final = 0.02
PACKET_SAMPLES: Final = round(PACKET_S * g711.RATE_HZ)
_TICK_S: Final = 0.02
"""How often something that depends on the clock is looked at."""


@dataclass(frozen=True)
class Heard:
    """One packet of sound that has arrived in its order."""

    arrived_s: float
    position: int
    """Of its first sample in the call, by its timestamp."""
    pcm: Pcm16
    """int16, (samples,), 8 kHz."""


class Telephone:
    """One telephone, one call.

    Microphone and ear are those of the bench's browser caller, so that both are timed alike: what
    is said is handed over in frames of 10 ms, two of which make a packet, and a packet is heard
    from its arrival on. There is no jitter buffer.

    Args:
        ip: its own address.
        number: its number.
    """

    def __init__(self, ip: str, number: str) -> None:
        self.ear = Ear()
        self.microphone = Microphone(self._send)
        self.reception = Reception()
        self.heard: list[Heard] = []
        self.sent = 0
        """Packets."""
        self.call: SipCall | None = None
        self._ip, self._number = ip, number
        self._changed = asyncio.Event()
        self._sound = SoundSocket(ip, self._hear)
        self._speaking: asyncio.Task[None] | None = None
        self._half: list[Pcm16] = []
        self._source = secrets.randbits(32)
        self._sequence = itertools.count(secrets.randbits(15))
        self._first_timestamp: int | None = None
        self._towards = ("", 0)

    async def dial(self, callee: str, server: str) -> None:
        """Call somebody; returns once the call is answered, and sends sound from then on.

        Args:
            callee: the number.
            server: livekit-sip, `HOST:PORT`.

        Raises:
            PhoneCallFailed: it is not answered.
            OSError: no socket can be had.
        """
        self.call = SipCall(self._ip, self._number, callee, server)
        self._towards = await self.call.invite(self._sound.port)
        self._speaking = asyncio.create_task(self.microphone.run())

    @property
    def over(self) -> bool:
        """Whether the call has ended."""
        return self.call is None or self.call.ended.is_set()

    async def wait_until(self, condition: Callable[[], bool], timeout_s: float) -> bool:
        """Wait for something that a sound or the clock brings; False when time ran out."""
        give_up_s = time.monotonic() + timeout_s
        while not condition():
            if time.monotonic() >= give_up_s:
                return False
            self._changed.clear()
            try:
                async with asyncio.timeout(_TICK_S):
                    await self._changed.wait()
            except TimeoutError:
                continue
        return True

    async def hang_up(self) -> None:
        """Stop speaking and end the call."""
        if self._speaking is not None:
            self._speaking.cancel()
            await asyncio.gather(self._speaking, return_exceptions=True)
        if self.call is not None:
            await self.call.hang_up()

    def close(self) -> None:
        """Give the sockets back."""
        self._sound.close()
        if self.call is not None:
            self.call.close()

    async def _send(self, frame: Pcm16, _: float) -> None:
        self._half.append(thinned(frame))
        if len(self._half) < round(PACKET_S / FRAME_S):
            return
        payload = g711.encode(np.concatenate(self._half))
        self._half.clear()
        packet = Packet(
            g711.PAYLOAD_TYPE, next(self._sequence), self.sent * PACKET_SAMPLES, payload
        )
        self._sound.send(packet.pack(self._source), self._towards)
        self.sent += 1

    def _hear(self, packet: Packet, arrived_s: float) -> None:
        if not self.reception.take(packet.sequence):
            return  # a telephone cannot play what should have been played before
        if self._first_timestamp is None:
            self._first_timestamp = packet.timestamp
        pcm = g711.decode(packet.payload)
        position = (packet.timestamp - self._first_timestamp) % 2**32
        self.heard.append(Heard(arrived_s, position, pcm))
        wide = thickened(pcm)
        for index, start in enumerate(range(0, len(wide), FRAME_SAMPLES)):
            self.ear.hear(wide[start : start + FRAME_SAMPLES], arrived_s + index * FRAME_S)
        self._changed.set()


@asynccontextmanager
async def telephone(ip: str, number: str) -> AsyncIterator[Telephone]:
    """A telephone; it has hung up at the end."""
    phone = Telephone(ip, number)
    try:
        yield phone
    finally:
        try:
            await phone.hang_up()
        finally:
            phone.close()
