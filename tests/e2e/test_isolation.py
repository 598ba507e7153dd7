"""With all egress blocked a call works as ever, and nothing even tries to reach the outside."""

import json
import os
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.isolated_network import ETH_P_IPV4, ETH_P_IPV6, ISOLATE, describe, why_not
from tests.stack import CHECKOUT

CONVERSATION = sorted((CHECKOUT / "tests" / "fixtures" / "conversation").glob("*.wav"))


@pytest.mark.timeout(240)
def test_a_call_needs_and_tries_nothing_outside(tmp_path: Path) -> None:
    if reason := why_not():
        pytest.skip(reason)
    home, result = tmp_path / "home", tmp_path / "result.json"
    home.mkdir()
    process = subprocess.run(
        [*ISOLATE, sys.executable, "-m", "tests.isolated_call", home, result, *CONVERSATION],
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=220,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    seen = json.loads(result.read_text())
    assert seen["network"] != os.readlink("/proc/self/ns/net")
    assert seen["status"] == 0, seen["output"]
    assert seen["call"]["ok"]
    assert len(seen["call"]["turns"]) == len(CONVERSATION)
    assert sorted(set(seen["attempts"])) == []


def ipv4(protocol: int, destination: str, port: int) -> bytes:
    addresses = socket.inet_aton("10.99.0.1") + socket.inet_aton(destination)
    return struct.pack("!BBHHHBBH", 0x45, 0, 28, 0, 0, 64, protocol, 0) + addresses + struct.pack(
        "!HHHH", 40_000, port, 8, 0
    )  # fmt: skip


def ipv6(header: int, destination: str, body: bytes) -> bytes:
    addresses = socket.inet_pton(socket.AF_INET6, "fd99::1") + socket.inet_pton(
        socket.AF_INET6, destination
    )
    return struct.pack("!IHBB", 0x60000000, len(body), header, 255) + addresses + body


@pytest.mark.parametrize(
    ("packet", "protocol", "expected"),
    [
        (ipv4(17, "8.8.8.8", 53), ETH_P_IPV4, "udp 8.8.8.8:53"),
        (
            ipv4(17, "8.8.8.8", 53) + b"\0\1\1\0\0\1\0\0\0\0\0\0\4stun\7example\0\0\1\0\1",
            ETH_P_IPV4,
            "udp 8.8.8.8:53 asks stun.example",
        ),
        (ipv4(6, "93.184.216.34", 443), ETH_P_IPV4, "tcp 93.184.216.34:443"),
        (ipv4(17, "224.0.0.251", 5353), ETH_P_IPV4, "udp 224.0.0.251:5353"),
        (ipv4(1, "8.8.8.8", 0), ETH_P_IPV4, "protocol-1 8.8.8.8:0"),
        (
            ipv6(17, "2001:db8::1", b"\x9c\x40\x0d\x96\0\x08\0\0"),
            ETH_P_IPV6,
            "udp 2001:db8::1:3478",
        ),
        (ipv6(58, "2001:db8::1", b"\x80\0\0\0"), ETH_P_IPV6, "protocol-58 2001:db8::1:0"),
        (ipv6(58, "ff02::2", b"\x85\0\0\0"), ETH_P_IPV6, None),
        (ipv6(0, "ff02::16", b"\x3a\0\x05\x02\0\0\x01\0\x8f\0\0\0"), ETH_P_IPV6, None),
        (b"\x45", ETH_P_IPV4, None),
        (b"", ETH_P_IPV6, None),
        (b"\0" * 28, 0x0806, None),
    ],
)
def test_packets_are_told_apart(packet: bytes, protocol: int, expected: str | None) -> None:
    assert describe(packet, protocol) == expected
