import errno
import os
import socket
from pathlib import Path

import pytest

from bench import children
from bench.children import free_port

GIVEN_OUT = Path("/proc/sys/net/ipv4/ip_local_port_range")


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_free_port_can_be_had(kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET, kind) as server:
        server.bind(("127.0.0.1", free_port(kind)))


@pytest.mark.skipif(not GIVEN_OUT.is_file(), reason="this system does not tell its port range")
def test_a_free_port_is_none_that_the_kernel_may_give_away() -> None:
    first, last = map(int, GIVEN_OUT.read_text().split())
    assert free_port() not in range(first, last + 1)


def test_a_port_that_somebody_has_is_not_free(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", free_port(socket.SOCK_DGRAM)))
        monkeypatch.setattr(children, "_PORTS", [taken.getsockname()[1]])
        with pytest.raises(OSError, match=os.strerror(errno.EADDRINUSE)):
            free_port(socket.SOCK_DGRAM)


def test_an_address_of_somebody_else_is_refused() -> None:
    with pytest.raises(OSError, match=os.strerror(errno.EADDRNOTAVAIL)):
        free_port(address="192.0.2.1")
