"""Asks a SIP server whether it is there: one OPTIONS request, one status line."""

import asyncio
import re
import secrets
from typing import Literal

from voice_agent.phone.errors import one_line

Transport = Literal["udp", "tcp"]

ANSWER_TIMEOUT_S = 2.0
"""Longest wait for an answer; a request over UDP is sent twice in it. Seconds."""
RESEND_S = 0.5
"""Time until a request over UDP is sent again. Source: RFC 3261, timer T1."""
MAX_ANSWER_BYTES = 65_535

_STATUS_LINE = re.compile(rb"SIP/2\.0 ([1-6][0-9]{2}) ([^\r\n]*)\r?\n")


class NoSipAnswer(Exception):
    """Nothing that speaks SIP answered; the message says what happened instead."""


async def ask_options(host: str, port: int, transport: Transport) -> str:
    """The status that a SIP server answers an OPTIONS request with, such as `200 OK`.

    Raises:
        NoSipAnswer: there is no answer, or it is not SIP.
    """
    try:
        async with asyncio.timeout(ANSWER_TIMEOUT_S):
            if transport == "udp":
                answer = await _ask_udp(host, port)
            else:
                answer = await _ask_tcp(host, port)
    except TimeoutError:
        raise NoSipAnswer(f"no answer within {ANSWER_TIMEOUT_S:g} s") from None
    except OSError as error:
        raise NoSipAnswer(error.strerror or str(error)) from error
    status = _STATUS_LINE.match(answer)
    if status is None:
        raise NoSipAnswer("what answered does not speak SIP")
    return f"{status[1].decode()} {one_line(status[2].decode('utf-8', 'replace'))}".strip()


def options_request(host: str, port: int, transport: Transport, local: tuple[str, int]) -> bytes:
    """An OPTIONS request outside of any call. Source: RFC 3261, section 11.

    Args:
        host: the server.
        port: its port.
        transport: how it is sent.
        local: our own address and port.
    """
    here = f"{local[0]}:{local[1]}"
    token = secrets.token_hex(8)
    lines = (
        f"OPTIONS sip:{host}:{port} SIP/2.0",
        # z9hG4bK: every branch begins so; rport: answer to where this came from (RFC 3581)
        f"Via: SIP/2.0/{transport.upper()} {here};branch=z9hG4bK{token};rport",
        "Max-Forwards: 70",
        f"From: <sip:doctor@{here}>;tag={token}",
        f"To: <sip:{host}:{port}>",
        f"Call-ID: {token}@{local[0]}",
        "CSeq: 1 OPTIONS",
        f"Contact: <sip:doctor@{here};transport={transport}>",
        "Accept: application/sdp",
        "Content-Length: 0",
    )
    return "\r\n".join((*lines, "", "")).encode()


class _Answer(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.received: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    def datagram_received(self, data: bytes, addr: object) -> None:
        if not self.received.done():
            self.received.set_result(data)

    def error_received(self, exc: Exception) -> None:
        if not self.received.done():
            self.received.set_exception(exc)


async def _ask_udp(host: str, port: int) -> bytes:
    loop = asyncio.get_running_loop()
    transport, answer = await loop.create_datagram_endpoint(_Answer, remote_addr=(host, port))
    try:
        request = options_request(host, port, "udp", transport.get_extra_info("sockname")[:2])
        while True:
            transport.sendto(request)
            done, _ = await asyncio.wait([answer.received], timeout=RESEND_S)
            if done:
                return answer.received.result()
    finally:
        answer.received.cancel()
        transport.close()


async def _ask_tcp(host: str, port: int) -> bytes:
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(options_request(host, port, "tcp", writer.get_extra_info("sockname")[:2]))
        await writer.drain()
        answer = b""
        while b"\n" not in answer and len(answer) < MAX_ANSWER_BYTES:
            chunk = await reader.read(4096)
            if not chunk:
                break
            answer += chunk
        return answer
    finally:
        writer.close()
