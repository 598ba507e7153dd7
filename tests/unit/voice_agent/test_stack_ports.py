import socket

import pytest

from voice_agent.stack.errors import StackError
from voice_agent.stack.ports import PortWish, holder_of, is_free, settle_ports


@pytest.fixture
def taken() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_free_ports_are_kept_and_zero_gets_one() -> None:
    free = settle_ports([PortWish("probe", "P", 0)])["P"]
    ports = settle_ports([PortWish("page", "A", free), PortWish("other", "B", 0)])
    assert ports["A"] == free
    assert ports["B"] not in (0, free)


def test_wishes_for_any_port_never_share_one() -> None:
    ports = settle_ports([PortWish("page", f"S{n}", 0) for n in range(50)])
    assert len(set(ports.values())) == 50


def test_a_busy_port_is_named_with_its_holder_and_the_way_out(taken: int) -> None:
    with pytest.raises(StackError) as raised:
        settle_ports([PortWish("page", "PARLEY_WEB_PORT", taken)])
    assert f"port {taken} (page) is in use by" in raised.value.message
    assert "PARLEY_WEB_PORT=" in raised.value.fix
    assert f"PARLEY_WEB_PORT={taken} " not in raised.value.fix


def test_every_busy_port_is_named_at_once(taken: int) -> None:
    with pytest.raises(StackError) as raised:
        settle_ports([PortWish("page", "A", taken), PortWish("speech server", "B", taken)])
    assert "(page)" in raised.value.message
    assert "(speech server)" in raised.value.message


def test_the_same_port_wished_twice_is_refused() -> None:
    free = settle_ports([PortWish("probe", "P", 0)])["P"]
    with pytest.raises(StackError, match="speech server"):
        settle_ports([PortWish("page", "A", free), PortWish("speech server", "B", free)])


def test_auto_takes_another_port_where_the_wanted_one_is_busy(taken: int) -> None:
    free = settle_ports([PortWish("probe", "P", 0)])["P"]
    ports = settle_ports([PortWish("page", "A", taken), PortWish("other", "B", free)], auto=True)
    assert ports["A"] not in (0, taken)
    assert ports["B"] == free


def test_udp_and_tcp_do_not_hinder_each_other(taken: int) -> None:
    assert not is_free(taken)
    assert is_free(taken, "udp")
    assert settle_ports([PortWish("media", "M", taken, "udp")]) == {"M": taken}


def test_a_busy_udp_port_is_noticed() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as media:
        media.bind(("127.0.0.1", 0))
        with pytest.raises(StackError, match="media"):
            settle_ports([PortWish("media", "M", media.getsockname()[1], "udp")])


@pytest.mark.parametrize("kind", [socket.SOCK_STREAM, socket.SOCK_DGRAM])
def test_a_port_of_both_kinds_is_busy_when_one_of_them_is(kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_INET, kind) as other:
        other.bind(("127.0.0.1", 0))
        if kind == socket.SOCK_STREAM:
            other.listen(1)
        port = other.getsockname()[1]
        assert not is_free(port, "tcp+udp")
        with pytest.raises(StackError, match="livekit-sip") as raised:
            settle_ports([PortWish("livekit-sip", "PARLEY_SIP_PORT", port, "tcp+udp")])
        assert "is in use by" in raised.value.message


def test_a_free_port_of_both_kinds_is_found_and_let_go() -> None:
    port = settle_ports([PortWish("livekit-sip", "S", 0, "tcp+udp")])["S"]
    assert is_free(port, "tcp")
    assert is_free(port, "udp")
    assert settle_ports([PortWish("livekit-sip", "S", port, "tcp+udp")]) == {"S": port}


def test_nobody_holds_a_free_port() -> None:
    free = settle_ports([PortWish("probe", "P", 0)])["P"]
    assert holder_of(free) is None
