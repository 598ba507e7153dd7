"""The few SIP messages that a call takes, written and read. Pure. Source: RFC 3261."""

import re
from dataclasses import dataclass
from typing import Final

from bench.phone import g711

MAGIC: Final = "z9hG4bK"
"""Every branch begins so. Source: RFC 3261, section 8.1.1.7."""
MAX_MESSAGE_BYTES: Final = 65_535
_STATUS_LINE: Final = re.compile(r"SIP/2\.0 ([1-6][0-9]{2}) (.*)")
_COPIED: Final = ("via", "from", "to", "call-id", "cseq")
"""Headers that an answer repeats. Source: RFC 3261, section 8.2.6.2."""
_HOST: Final = re.compile(r"^c=IN IP4 (\S+)", re.MULTILINE)
_PORT: Final = re.compile(r"^m=audio ([0-9]+) ", re.MULTILINE)
_URI: Final = re.compile(r"<([^>]*)>")


@dataclass(frozen=True)
class Message:
    """A request or an answer that has come."""

    start: str
    """Its first line."""
    headers: tuple[tuple[str, str], ...]
    """Names in lower case."""
    body: str

    @property
    def status(self) -> int | None:
        """Of an answer; None for a request."""
        found = _STATUS_LINE.fullmatch(self.start)
        return int(found[1]) if found else None

    @property
    def method(self) -> str:
        """Of a request, or of the request that is answered."""
        return self.header("cseq").rpartition(" ")[2]

    def header(self, name: str) -> str:
        """The first header of that name; empty where there is none."""
        return next((value for key, value in self.headers if key == name), "")

    @property
    def contact(self) -> str:
        """The URI that further requests go to; empty where none is told."""
        found = _URI.search(self.header("contact"))
        return found[1] if found else ""

    @property
    def sound_address(self) -> tuple[str, int] | None:
        """Where its sender wants the sound; None where the body does not say."""
        host, port = _HOST.search(self.body), _PORT.search(self.body)
        return (host[1], int(port[1])) if host and port else None

    def ok(self) -> bytes:
        """The answer 200 to a request."""
        copied = [f"{name}: {value}" for name, value in self.headers if name in _COPIED]
        return "\r\n".join(("SIP/2.0 200 OK", *copied, "Content-Length: 0", "", "")).encode()


def parse(data: bytes) -> Message | None:
    """Read a message; None for what is none."""
    head, found, body = data.decode("utf-8", "replace").partition("\r\n\r\n")
    start, *lines = head.split("\r\n")
    if not found or "SIP/2.0" not in start:
        return None
    fields = (line.partition(":") for line in lines)
    headers = tuple((name.strip().lower(), value.strip()) for name, _, value in fields)
    return Message(start, headers, body)


@dataclass(frozen=True)
class Dialog:
    """What stays the same in the requests of one call.

    Attributes:
        here: our own address and port.
        caller: our number.
        callee: the number that is called.
        server: who is called, `HOST:PORT`.
        call_id: name of the call.
        tag: our own mark in it.
    """

    here: tuple[str, int]
    caller: str
    callee: str
    server: str
    call_id: str
    tag: str

    def invite(self, branch: str, body: str) -> bytes:
        """Ask for the call."""
        extra = ("Content-Type: application/sdp",)
        return self._request("INVITE", self._target, branch, self._to, 1, extra, body)

    def acknowledge(self, answer: Message, branch: str) -> bytes:
        """Confirm the final answer to the invitation.

        Args:
            answer: that answer.
            branch: the invitation's own where it was refused, else a new one.
        """
        accepted = answer.status is not None and answer.status < 300
        target = (accepted and answer.contact) or self._target
        return self._request("ACK", target, branch, answer.header("to"), 1)

    def bye(self, answer: Message, branch: str) -> bytes:
        """Hang up.

        Args:
            answer: the one that accepted the call.
            branch: a new one.
        """
        target = answer.contact or self._target
        return self._request("BYE", target, branch, answer.header("to"), 2)

    def cancel(self, branch: str) -> bytes:
        """Give up before there was a final answer.

        Args:
            branch: the invitation's.
        """
        return self._request("CANCEL", self._target, branch, self._to, 1)

    @property
    def _target(self) -> str:
        return f"sip:{self.callee}@{self.server}"

    @property
    def _to(self) -> str:
        return f"<{self._target}>"

    def _request(
        self,
        method: str,
        target: str,
        branch: str,
        to: str,
        number: int,
        extra: tuple[str, ...] = (),
        body: str = "",
    ) -> bytes:
        host, port = self.here
        lines = (
            f"{method} {target} SIP/2.0",
            f"Via: SIP/2.0/UDP {host}:{port};branch={MAGIC}{branch};rport",
            "Max-Forwards: 70",
            f"From: <sip:{self.caller}@{host}>;tag={self.tag}",
            f"To: {to}",
            f"Call-ID: {self.call_id}",
            f"CSeq: {number} {method}",
            f"Contact: <sip:{self.caller}@{host}:{port}>",
            *extra,
            f"Content-Length: {len(body)}",
        )
        return ("\r\n".join((*lines, "", "")) + body).encode()


def offer(host: str, port: int) -> str:
    """The offer of sound in an invitation: PCMU alone, 20 ms a packet.

    Args:
        host: where sound is wanted, IPv4.
        port: its port.
    """
    lines = (
        "v=0",
        f"o=- 1 1 IN IP4 {host}",
        "s=-",
        f"c=IN IP4 {host}",
        "t=0 0",
        f"m=audio {port} RTP/AVP {g711.PAYLOAD_TYPE}",
        f"a=rtpmap:{g711.PAYLOAD_TYPE} PCMU/{g711.RATE_HZ}",
        "a=ptime:20",
        "a=sendrecv",
    )
    return "\r\n".join((*lines, ""))
