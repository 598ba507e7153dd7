"""The checks of the way of a call that need no LiveKit."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing

import pytest
from livekit.protocol import sip
from livekit.protocol.agent_dispatch import RoomAgentDispatch
from livekit.protocol.room import RoomConfiguration

from voice_agent.phone.doctor import (
    Bridge,
    check_address,
    check_media_ports,
    check_signalling,
    own_bridge,
    running_bridge,
)
from voice_agent.phone.provisioning import Provisioned
from voice_agent.phone.provisioning_check import check_provisioned
from voice_agent.phone.sip_probe import NoSipAnswer, ask_options, options_request
from voice_agent.stack.settings import RunSettings

OK = b"SIP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"


@asynccontextmanager
async def sip_server(answer: bytes, *, udp: bool = True) -> AsyncIterator[int]:
    """Answers every request, over TCP and UDP, with these bytes; yields the port."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    class Datagrams(asyncio.DatagramProtocol):
        transport: asyncio.DatagramTransport

        def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override]
            self.transport = transport

        def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
            if udp:
                self.transport.sendto(answer, addr)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port: int = server.sockets[0].getsockname()[1]
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(
            Datagrams, local_addr=("127.0.0.1", port)
        )
        try:
            yield port
        finally:
            transport.close()


async def test_a_bridge_that_answers() -> None:
    async with sip_server(OK) as port:
        finding = await check_signalling(Bridge("127.0.0.1", port))
    assert (finding.status, finding.detail) == ("ok", "udp 200 OK, tcp 200 OK")


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\n\r\n", b"\x00" * 40, b"SIP/2.0 999 x\r\n", b""]
)
async def test_what_answers_does_not_speak_sip(answer: bytes) -> None:
    async with sip_server(answer) as port:
        with pytest.raises(NoSipAnswer, match="does not speak SIP"):
            await ask_options("127.0.0.1", port, "tcp")


async def test_a_hostile_reason_is_made_harmless() -> None:
    async with sip_server(b"SIP/2.0 200 \x1b[31m" + b"x" * 5000 + b"\r\n\r\n") as port:
        status = await ask_options("127.0.0.1", port, "tcp")
    assert status.isprintable()
    assert len(status) < 400


async def test_nobody_there() -> None:
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        finding = await check_signalling(Bridge("127.0.0.1", port))
    assert finding.status == "problem"
    assert "PARLEY_SIP_PORT" in finding.fix


async def test_a_firewall_that_lets_tcp_through_and_no_udp(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("voice_agent.phone.sip_probe.ANSWER_TIMEOUT_S", 0.05)
    async with sip_server(OK, udp=False) as port:
        finding = await check_signalling(Bridge("127.0.0.1", port))
    assert (finding.status, finding.detail) == ("problem", "udp: no answer within 0.05 s")


def test_the_request_is_one_that_sip_servers_take() -> None:
    lines = options_request("h", 5060, "udp", ("192.0.2.1", 40000)).decode().split("\r\n")
    assert lines[0] == "OPTIONS sip:h:5060 SIP/2.0"
    assert lines[-2:] == ["", ""]
    names = [line.partition(":")[0] for line in lines[1:-2]]
    for required in ("Via", "Max-Forwards", "From", "To", "Call-ID", "CSeq"):
        assert names.count(required) == 1


def test_our_own_bridge_is_that_of_the_settings() -> None:
    bridge = own_bridge(RunSettings(sip_listen="0.0.0.0", sip_address="203.0.113.7", sip_port=5062))  # type: ignore[arg-type]
    assert (bridge.host, bridge.port, bridge.told) == ("127.0.0.1", 5062, "203.0.113.7")


def test_the_running_bridge_is_asked_where_it_can_be_reached() -> None:
    behind_nat = running_bridge("203.0.113.7:5062", RunSettings())
    assert (behind_nat.host, behind_nat.port, behind_nat.told) == ("127.0.0.1", 5062, "203.0.113.7")
    here = running_bridge("127.0.0.1:5062", RunSettings())
    assert (here.host, here.told) == ("127.0.0.1", "127.0.0.1")


def held_even_port() -> socket.socket:
    """A UDP socket with an even port, which is what livekit-sip takes."""
    while True:
        held = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        held.bind(("", 0))
        if held.getsockname()[1] % 2 == 0:
            return held
        held.close()


def test_media_ports_that_another_program_has() -> None:
    with held_even_port() as held:
        port = held.getsockname()[1]
        (finding,) = check_media_ports(Bridge("127.0.0.1", 5080, "127.0.0.1", f"{port}-{port + 1}"))
    assert (finding.status, finding.detail) == ("problem", "all in use")


def test_a_call_takes_an_even_port_and_the_next() -> None:
    (finding,) = check_media_ports(Bridge("127.0.0.1", 5080, "127.0.0.1", "20001-20064"))
    assert finding.detail.startswith("32 calls at most")


def test_a_firewall_is_told_of_where_others_may_call() -> None:
    (finding,) = check_media_ports(Bridge("127.0.0.1", 5080, "203.0.113.7", "20000-20100"))
    assert (finding.status, "20000:20100" in finding.fix) == ("note", True)


@pytest.mark.parametrize(
    ("told", "status"),
    [("127.0.0.1", "note"), ("10.255.255.254", "problem"), ("203.0.113.7", "problem")],
)
def test_the_address_that_callers_are_told(told: str, status: str) -> None:
    (finding,) = check_address(Bridge("127.0.0.1", 5080, told, "20000-20100"))
    assert finding.status == status


def test_a_public_address_is_reached_through_a_router() -> None:
    (finding,) = check_address(Bridge("127.0.0.1", 5080, "9.9.9.9", "20000-20100"))
    assert (finding.status, "SIP ALG" in finding.fix) == ("note", True)


def rule(metadata: str = '{"persona": "front_desk"}', **fields: object) -> sip.SIPDispatchRuleInfo:
    agents = [RoomAgentDispatch(agent_name="parley", metadata=metadata)]
    return sip.SIPDispatchRuleInfo(
        name="r",
        **{"room_config": RoomConfiguration(agents=agents), "trunk_ids": ["ST_1"], **fields},  # type: ignore[arg-type]
    )


def problems(found: Provisioned) -> str:
    findings = check_provisioned(found, "parley", None)
    return "; ".join(finding.detail for finding in findings if finding.status == "problem")


def trunk(**fields: object) -> sip.SIPInboundTrunkInfo:
    return sip.SIPInboundTrunkInfo(
        sip_trunk_id="ST_1",
        name="t",
        **{"numbers": ["+15550100"], "allowed_addresses": ["192.0.2.1"], **fields},  # type: ignore[arg-type]
    )


def test_what_is_right_is_no_problem() -> None:
    secured = trunk(auth_username="u", auth_password="p")
    findings = check_provisioned(Provisioned([secured], [], [rule()]), "parley", None)
    assert [finding.status for finding in findings] == ["ok", "ok"]


def test_addresses_alone_are_worth_a_note() -> None:
    first, _ = check_provisioned(Provisioned([trunk()], [], [rule()]), "parley", None)
    assert (first.status, "by their address only" in first.detail) == ("note", True)


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (Provisioned([trunk(allowed_addresses=[])], [], [rule()]), "takes calls from everybody"),
        (
            Provisioned([trunk(allowed_addresses=["0.0.0.0/0"])], [], [rule()]),
            "allows 0.0.0.0/0, which is no network, or is most of the internet",
        ),
        (Provisioned([trunk()], [], []), "no rule says who answers: the caller hears it ring"),
        (
            Provisioned([trunk()], [], [rule(numbers=["+15550101"])]),
            "no rule says who answers +15550100",
        ),
        (Provisioned([], [], [rule(trunk_ids=["ST_9"])]), "names a trunk that is gone (ST_9)"),
        (Provisioned([], [], [rule(trunk_ids=[])]), "names no trunk, so it answers everybody"),
        (Provisioned([], [], [rule(room_config=RoomConfiguration())]), "callers are told busy"),
        (Provisioned([], [], [rule("{}")]), "metadata is not"),
        (Provisioned([], [], [rule("[" * 5000)]), "metadata is not"),
        (Provisioned([], [], [rule('{"persona": "nobody"}')]), "There is no persona"),
        (
            Provisioned(
                [
                    trunk(
                        media=sip.SIPMediaConfig(
                            only_listed_codecs=True, codecs=[sip.SIPCodec(name="opus")]
                        )
                    )
                ],
                [],
                [rule()],
            ),
            "offers no codec that telephones speak",
        ),
    ],
)
def test_usual_mistakes(found: Provisioned, told: str) -> None:
    assert told in problems(found)
