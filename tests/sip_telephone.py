"""A telephone that can be called: it answers, rings on, is busy or declines, as its number says.

baresip and sipp behave one way a process; this one tells calls apart by the number dialled, so that
a list of people can be called. Over UDP, one codec (PCMU), no authentication.
"""

import asyncio
import itertools
import re
import struct
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_SDP = "v=0\r\no=- 1 1 IN IP4 {ip}\r\ns=-\r\nc=IN IP4 {ip}\r\nt=0 0\r\nm=audio {port} RTP/AVP 0\r\n"
_COPIED = ("via", "from", "call-id", "cseq", "record-route")
_RTP_HEADER_BYTES = 12
_MULAW_SILENCE = frozenset({0xFF, 0x7F, 0xFE, 0x7E})
"""Bytes of digital silence and of its smallest step. Source: ITU-T G.711."""
_LOUD_BYTES = 80
"""Of a packet's 160, not silent: speech."""

REASONS = {404: "Not Found", 486: "Busy Here", 503: "Service Unavailable", 603: "Decline"}
RINGS_ON = 0
ANSWERS = 200


class SipTelephone(asyncio.DatagramProtocol):
    """The telephone.

    Args:
        ip: its address.
        answers: number → final status; `RINGS_ON` for one that nobody picks up, `ANSWERS` for one
            that is picked up.
    """

    def __init__(self, ip: str, answers: dict[str, int]) -> None:
        self._ip = ip
        self._answers = answers
        self.called: list[str] = []
        """Numbers, in the order in which they rang; once for each call."""
        self.cancelled: list[str] = []
        self.heard = asyncio.Event()
        """Set once somebody speaks."""
        self.hung_up = asyncio.Event()
        """Set once the other side has ended an answered call."""
        self._rung = defaultdict[str, asyncio.Event](asyncio.Event)
        self._given_up = defaultdict[str, asyncio.Event](asyncio.Event)
        self._dialogs: dict[str, tuple[str, str, tuple[str, int]]] = {}
        self._media = _Media(self.heard)

    async def open(self, port: int) -> None:
        """Begin to listen."""
        loop = asyncio.get_running_loop()
        self._port = port
        self._signals, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=(self._ip, port)
        )
        self._sound, _ = await loop.create_datagram_endpoint(
            lambda: self._media, local_addr=(self._ip, 0)
        )

    async def until_rung(self, number: str) -> None:
        """Wait until somebody calls a number."""
        await self._rung[number].wait()

    async def until_cancelled(self, number: str) -> None:
        """Wait until a call to a number is given up."""
        await self._given_up[number].wait()

    def close(self) -> None:
        self._signals.close()
        self._sound.close()

    def hang_up(self) -> None:
        """End every answered call, as who was called."""
        for call_id, (request, contact, peer) in self._dialogs.items():
            to, sender = _header(request, "to"), _header(request, "from")
            lines = (
                f"BYE {contact} SIP/2.0",
                f"Via: SIP/2.0/UDP {self._ip}:{self._port};branch=z9hG4bKbye{len(call_id)};rport",
                "Max-Forwards: 70",
                f"From: {to};tag=telephone",
                f"To: {sender}",
                f"Call-ID: {call_id}",
                "CSeq: 7 BYE",
                "Content-Length: 0",
            )
            self._signals.sendto("\r\n".join((*lines, "", "")).encode(), peer)
        self._dialogs.clear()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        request = data.decode("utf-8", "replace")
        method, _, rest = request.partition(" ")
        if method == "INVITE":
            self._ring(request, rest, addr)
        elif method == "CANCEL":
            self._reply(request, addr, 200, "OK")
            invite = request.replace("CANCEL", "INVITE")
            self.cancelled.append(_number(rest))
            self._given_up[_number(rest)].set()
            self._reply(invite, addr, 487, "Request Terminated")
        elif method == "BYE":
            self._reply(request, addr, 200, "OK")
            self._dialogs.pop(_header(request, "call-id"), None)
            self.hung_up.set()

    def _ring(self, request: str, rest: str, addr: tuple[str, int]) -> None:
        number = _number(rest)
        if _header(request, "call-id") in self._dialogs:
            return
        self.called.append(number)
        self._rung[number].set()
        self._reply(request, addr, 180, "Ringing")
        status = self._answers[number]
        if status == ANSWERS:
            contact = re.search(r"<([^>]*)>", _header(request, "contact"))
            assert contact is not None
            self._dialogs[_header(request, "call-id")] = (request, contact[1], addr)
            port = self._sound.get_extra_info("sockname")[1]
            self._reply(request, addr, 200, "OK", _SDP.format(ip=self._ip, port=port))
            self._media.be_quiet_towards(_media_address(request))
        elif status != RINGS_ON:
            self._reply(request, addr, status, REASONS[status])

    def _reply(
        self, request: str, addr: tuple[str, int], status: int, reason: str, body: str = ""
    ) -> None:
        lines = [f"SIP/2.0 {status} {reason}"]
        lines += [
            line for line in request.split("\r\n") if line.partition(":")[0].lower() in _COPIED
        ]
        to = _header(request, "to")
        lines.append(f"To: {to}" if "tag=" in to else f"To: {to};tag=telephone")
        lines.append(f"Contact: <sip:telephone@{self._ip}:{self._port}>")
        if body:
            lines.append("Content-Type: application/sdp")
        lines.append(f"Content-Length: {len(body)}")
        self._signals.sendto(("\r\n".join((*lines, "", "")) + body).encode(), addr)


class _Media(asyncio.DatagramProtocol):
    """Listens for speech, and sends silence: who sends nothing at all is hung up on."""

    def __init__(self, heard: asyncio.Event) -> None:
        self._heard = heard
        self._silences: list[asyncio.Task[None]] = []

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        for silence in self._silences:
            silence.cancel()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        sound = data[_RTP_HEADER_BYTES:]
        if sum(byte not in _MULAW_SILENCE for byte in sound) >= _LOUD_BYTES:
            self._heard.set()

    def be_quiet_towards(self, peer: tuple[str, int]) -> None:
        """Send silence to a call's other side until the telephone is closed."""
        self._silences.append(asyncio.create_task(self._send_silence(peer)))

    async def _send_silence(self, peer: tuple[str, int]) -> None:
        for number in itertools.count():
            header = struct.pack("!BBHII", 0x80, 0, number % 2**16, number * 160 % 2**32, 1)
            self._transport.sendto(header + b"\xff" * 160, peer)
            await asyncio.sleep(0.02)


@asynccontextmanager
async def sip_telephone(ip: str, port: int, answers: dict[str, int]) -> AsyncIterator[SipTelephone]:
    """A telephone that listens on a port."""
    telephone = SipTelephone(ip, answers)
    await telephone.open(port)
    try:
        yield telephone
    finally:
        telephone.close()


def _header(message: str, name: str) -> str:
    for line in message.split("\r\n"):
        key, _, value = line.partition(":")
        if key.lower() == name:
            return value.strip()
    raise AssertionError(f"no {name} in:\n{message}")


def _media_address(request: str) -> tuple[str, int]:
    """Where the caller wants the sound."""
    host = re.search(r"^c=IN IP4 (\S+)", request, re.M)
    port = re.search(r"^m=audio (\d+)", request, re.M)
    assert host is not None
    assert port is not None
    return host[1], int(port[1])


def _number(rest: str) -> str:
    found = re.match(r"sips?:([^@;>]+)", rest)
    assert found is not None, rest
    return found[1]
