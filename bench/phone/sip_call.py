"""One SIP call over UDP, made by us: invited, answered or refused, ended by either side."""

import asyncio
import secrets
import time
from typing import Final

from bench.phone.sip_messages import Dialog, Message, offer, parse

T1_S: Final = 0.5
"""Until a request is sent again, doubled each time. Source: RFC 3261, section 17.1.1.2."""
ANSWER_LIMIT_S: Final = 30.0
"""Longest wait for a call to be answered: a busy machine starts a process for it."""
_BYE_LIMIT_S: Final = 5.0
_TRANSACTION_S: Final = 64 * T1_S
"""Until an invitation that nobody answers at all is given up. Source: RFC 3261, timer B."""


class PhoneCallFailed(Exception):
    """The call was not answered, or broke off; the message says what happened instead."""


class SipCall(asyncio.DatagramProtocol):
    """The signalling of one call.

    Args:
        ip: our own address.
        caller: our number.
        callee: the number that is called.
        server: who is called, `HOST:PORT`.
    """

    def __init__(self, ip: str, caller: str, callee: str, server: str) -> None:
        self.call_id = f"{secrets.token_hex(8)}@{ip}"
        self.invited_s: float | None = None
        """When the invitation was sent, seconds."""
        self.answered_s: float | None = None
        """When its acceptance arrived, seconds."""
        self.ended = asyncio.Event()
        """Set once either side has hung up."""
        self._ip, self._caller, self._callee, self._server = ip, caller, callee, server
        self._branch = secrets.token_hex(8)
        self._accepted: Message | None = None
        self._heard = asyncio.Event()
        self._final: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._bye_answered = asyncio.Event()
        self._transport: asyncio.DatagramTransport | None = None

    async def invite(self, sound_port: int) -> tuple[str, int]:
        """Call; returns, once the call is accepted, where the other side wants the sound.

        Args:
            sound_port: where we want it.

        Raises:
            PhoneCallFailed: it is refused, or not answered in time.
            OSError: no socket can be had.
        """
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_datagram_endpoint(
            lambda: self, local_addr=(self._ip, 0)
        )
        here = self._transport.get_extra_info("sockname")[:2]
        self._dialog = Dialog(
            here, self._caller, self._callee, self._server, self.call_id, secrets.token_hex(8)
        )
        request = self._dialog.invite(self._branch, offer(self._ip, sound_port))
        self.invited_s = time.monotonic()
        sending = asyncio.create_task(self._repeat(request, self._heard, _TRANSACTION_S))
        try:
            async with asyncio.timeout(ANSWER_LIMIT_S):
                answer = await asyncio.shield(self._final)
        except TimeoutError:
            self._send(self._dialog.cancel(self._branch))
            # the refusal that follows has to be acknowledged, or it is sent again and again
            await asyncio.wait([self._final], timeout=_BYE_LIMIT_S)
            raise PhoneCallFailed(f"not answered within {ANSWER_LIMIT_S:.0f} s") from None
        finally:
            sending.cancel()
        if self._accepted is None:
            raise PhoneCallFailed(f"refused: {answer.start.removeprefix('SIP/2.0 ')}")
        address = answer.sound_address
        if address is None:
            raise PhoneCallFailed("accepted without an address for the sound")
        return address

    async def hang_up(self) -> None:
        """End the call, unless it is over; returns when the other side knows, or does not say."""
        if self._accepted is None or self.ended.is_set():
            return
        self.ended.set()
        request = self._dialog.bye(self._accepted, secrets.token_hex(8))
        await self._repeat(request, self._bye_answered, _BYE_LIMIT_S)

    def close(self) -> None:
        """Give the socket back."""
        if self._transport is not None:
            self._transport.close()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Take a message of the other side's."""
        arrived_s = time.monotonic()
        message = parse(data)
        if message is None or message.header("call-id") != self.call_id:
            return
        if message.status is None:
            if message.method == "BYE":
                self._send(message.ok(), addr)
                self.ended.set()
        elif message.method == "BYE":
            self._bye_answered.set()
        elif message.method == "INVITE":
            self._heard.set()
            if message.status >= 200:
                self._conclude(message, message.status, arrived_s)

    def _conclude(self, answer: Message, status: int, arrived_s: float) -> None:
        """Acknowledge the final answer, as often as it comes."""
        accepted = status < 300
        branch = secrets.token_hex(8) if accepted else self._branch
        self._send(self._dialog.acknowledge(answer, branch))
        if not self._final.done():
            if accepted:
                self._accepted, self.answered_s = answer, arrived_s
            self._final.set_result(answer)

    async def _repeat(self, request: bytes, answered: asyncio.Event, limit_s: float) -> None:
        """Send a request until something is heard, or for so long."""
        give_up_s, wait_s = time.monotonic() + limit_s, T1_S
        while not answered.is_set() and time.monotonic() < give_up_s:
            self._send(request)
            try:
                async with asyncio.timeout(wait_s):
                    await answered.wait()
            except TimeoutError:
                wait_s *= 2

    def _send(self, message: bytes, address: tuple[str, int] | None = None) -> None:
        """Send, to the server unless told otherwise."""
        if self._transport is not None and not self._transport.is_closing():
            host, _, port = self._server.partition(":")
            self._transport.sendto(message, address or (host, int(port)))
