"""The telephone's signalling, and what livekit-sip says of a call."""

import pytest

from bench.phone.sip_messages import MAGIC, Dialog, offer, parse
from bench.phone.sip_statistics import packets_received

DIALOG = Dialog(("10.0.0.1", 5070), "+15550120", "+15550100", "10.0.0.2:5080", "id@here", "mine")
SDP = "v=0\r\no=- 1 1 IN IP4 10.0.0.2\r\nc=IN IP4 10.0.0.2\r\nt=0 0\r\nm=audio 20004 RTP/AVP 0\r\n"


def answer(status: str, body: str = "", contact: str = "<sip:lk@10.0.0.9:5099>") -> bytes:
    lines = (
        f"SIP/2.0 {status}",
        f"Via: SIP/2.0/UDP 10.0.0.1:5070;branch={MAGIC}one;rport=5070",
        "From: <sip:+15550120@10.0.0.1>;tag=mine",
        "To: <sip:+15550100@10.0.0.2:5080>;tag=theirs",
        "Call-ID: id@here",
        "CSeq: 1 INVITE",
        f"Contact: {contact}",
        f"Content-Length: {len(body)}",
    )
    return ("\r\n".join((*lines, "", "")) + body).encode()


def test_an_invitation_offers_the_telephones_sound() -> None:
    request = parse(DIALOG.invite("one", offer("10.0.0.1", 30_000)))
    assert request is not None
    assert request.start == "INVITE sip:+15550100@10.0.0.2:5080 SIP/2.0"
    assert request.status is None
    assert request.method == "INVITE"
    assert request.header("from") == "<sip:+15550120@10.0.0.1>;tag=mine"
    assert request.header("content-length") == str(len(request.body))
    assert request.sound_address == ("10.0.0.1", 30_000)


def test_an_acceptance_tells_where_sound_and_requests_go() -> None:
    message = parse(answer("200 OK", SDP))
    assert message is not None
    assert (message.status, message.method) == (200, "INVITE")
    assert message.sound_address == ("10.0.0.2", 20_004)
    for request, start in (
        (DIALOG.acknowledge(message, "two"), "ACK sip:lk@10.0.0.9:5099 SIP/2.0"),
        (DIALOG.bye(message, "three"), "BYE sip:lk@10.0.0.9:5099 SIP/2.0"),
    ):
        sent = parse(request)
        assert sent is not None
        assert sent.start == start
        assert sent.header("to").endswith(";tag=theirs")


def test_a_refusal_is_acknowledged_where_the_invitation_went() -> None:
    message = parse(answer("486 Busy Here"))
    assert message is not None
    sent = parse(DIALOG.acknowledge(message, "one"))
    assert sent is not None
    assert sent.start == "ACK sip:+15550100@10.0.0.2:5080 SIP/2.0"
    # the same transaction as the invitation's. Source: RFC 3261, section 17.1.1.3
    assert f"branch={MAGIC}one;" in sent.header("via")
    assert sent.header("cseq") == "1 ACK"


def test_a_hang_up_of_the_other_side_is_answered_with_its_own_headers() -> None:
    bye = parse(
        b"BYE sip:us SIP/2.0\r\nVia: a\r\nVia: b\r\nFrom: x;tag=1\r\nTo: y;tag=2\r\n"
        b"Call-ID: id@here\r\nCSeq: 4 BYE\r\nMax-Forwards: 70\r\n\r\n"
    )
    assert bye is not None
    reply = parse(bye.ok())
    assert reply is not None
    assert reply.status == 200
    assert [value for name, value in reply.headers if name == "via"] == ["a", "b"]
    assert reply.header("cseq") == "4 BYE"
    assert reply.header("max-forwards") == ""


@pytest.mark.parametrize("data", [b"", b"\x00\xff", b"HTTP/1.1 200 OK\r\n\r\n", b"SIP/2.0 200 OK"])
def test_what_is_no_message_is_left(data: bytes) -> None:
    assert parse(data) is None


def test_a_message_without_what_is_needed_has_nothing() -> None:
    message = parse(answer("200 OK", "v=0\r\n", contact="nobody"))
    assert message is not None
    assert message.sound_address is None
    assert message.contact == ""


def test_packets_are_those_of_a_calls_last_statistics() -> None:
    def line(call: str, packets: int) -> str:
        stats = f'{{"port":{{"packets":{packets}}}}}'
        return f'2026\tINFO\tsip\tcall statistics\t{{"sipCallID": "{call}", "stats": {stats}}}'

    log = [
        "2026\tINFO\tsip\tsomething else {}",
        line("one", 10),
        line("one", 500),
        line("two", 7),
        'call statistics {"sipCallID": "three"}',
        "call statistics {broken",
        "call statistics",
    ]
    assert packets_received(log) == {"one": 500, "two": 7}
