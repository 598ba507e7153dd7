"""A telephone calls the agent: livekit-sip, Redis and livekit-server as they are, baresip and sipp.

All of it in a network of its own: `python -m tests.phone_network`.
"""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_call import bookings, transcribe
from tests.heard import readings, share_heard
from tests.phone_aftermath import nothing_is_left, settled, still_answers
from tests.phone_stack import (
    NUMBER,
    PASSWORD,
    SECURED_NUMBER,
    UNKNOWN_NUMBER,
    USER,
    PhoneStack,
)
from tests.phone_talk import hear_answer, spoken
from tests.sipp import sipp
from tests.softphone import Softphone, softphone
from tests.telephone_sound import RATE_HZ, Pcm16, write_wav
from voice_agent.personas import default_persona

HALF_PAST_THREE = ("half past three", "three thirty", "3:30", "3 30", "330", "3.30")
TRIES = 3
"""How often a caller asks for the same: "book" is "look" to a recogniser at times."""
OUTSIDE = "127.0.0.1"
"""An address that no trunk allows."""
FLOOD_CALLS, FLOOD_PER_SECOND = 600, 50
"""Twelve seconds of what a scanner on the internet does."""

pytestmark = pytest.mark.timeout(240)  # the first test of a session starts the stack as well


async def test_a_caller_is_greeted_and_books_an_appointment(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    def is_booked() -> bool:
        return ("Peter Miller", "15:30") in bookings(phone_stack.stack)

    async with softphone(tmp_path / "phone") as phone:
        await phone.dial(f"sip:{NUMBER}@{phone_stack.address}")
        await hear_answer(phone, 0)
        greeted = phone.heard()
        for _ in range(TRIES):
            booked = await answer_to(phone, "3-book")
            if is_booked():
                break
        when = await answer_to(phone, "4-when")
        await phone.say(spoken("5-goodbye"))
        due = phone.heard().size
        await phone.ended()
        farewell = phone.heard()[due:]
    texts = [
        understood(phone_stack, pcm, tmp_path / f"{number}.wav")
        for number, pcm in enumerate((booked, when, farewell))
    ]
    assert share_heard(default_persona("front_desk", None).greeting, greeted, RATE_HZ) > 0.6
    assert is_booked(), texts
    for text in texts[:2]:
        assert any(time in text for time in HALF_PAST_THREE), texts
    assert "bye" in texts[2], texts
    await phone_stack.until_no_room_is_left()


async def answer_to(phone: Softphone, line: str) -> Pcm16:
    """Say a line of the conversation; what is heard then, until it is silent."""
    await phone.say(spoken(line))
    due = phone.heard().size
    await hear_answer(phone, due)
    return phone.heard()[due:]


def understood(phone_stack: PhoneStack, pcm: Pcm16, file: Path) -> str:
    """What two listeners understand, in lower case: each invents words now and then."""
    write_wav(file, pcm)
    heard = map(" ".join, readings(pcm, RATE_HZ))
    return " / ".join((transcribe(phone_stack.stack, file), *heard))


async def test_a_caller_who_hangs_up_mid_word_leaves_nothing_behind(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    await still_answers(phone_stack, tmp_path / "first")
    before = await settled(phone_stack)
    calls = 4
    for number in range(calls):
        async with softphone(tmp_path / str(number)) as phone:
            await phone.dial(f"sip:{NUMBER}@{phone_stack.address}")
            await phone.until_audible()
            assert len(await phone_stack.rooms()) == 1
            await phone.hang_up()
        await phone_stack.until_no_room_is_left()
    await nothing_is_left(phone_stack, before, calls)


async def test_a_password_opens_its_trunk(phone_stack: PhoneStack, tmp_path: Path) -> None:
    async with softphone(tmp_path / "phone", USER, PASSWORD) as phone:
        await phone.dial(f"sip:{SECURED_NUMBER}@{phone_stack.address}")
        await phone.until_audible()
        await phone.hang_up()
    await phone_stack.until_no_room_is_left()


@pytest.mark.parametrize(
    ("scenario", "number", "source"),
    [
        ("cancel", NUMBER, None),
        ("wrong_password", SECURED_NUMBER, None),
        ("no_from_tag", NUMBER, None),
        ("no_common_codec", NUMBER, None),
        ("endless_caller_id", NUMBER, None),
        ("unknown_number", UNKNOWN_NUMBER, None),
        ("unknown_number", NUMBER, OUTSIDE),
        ("no_sound", NUMBER, None),
    ],
)
async def test_a_call_that_comes_to_nothing_ends_and_hinders_nobody(
    phone_stack: PhoneStack, tmp_path: Path, scenario: str, number: str, source: str | None
) -> None:
    told: dict[str, Any] = {} if source is None else {"source": source}
    # The first one leaves livekit-sip a connection to livekit-server, kept for the next.
    await sipp(scenario, phone_stack.address, tmp_path, number=number, **told)
    before = await settled(phone_stack)
    calls = 3
    await sipp(scenario, phone_stack.address, tmp_path, number=number, calls=calls, **told)
    await nothing_is_left(phone_stack, before, calls)
    await still_answers(phone_stack, tmp_path / "after")


async def test_a_flood_of_calls_to_nobody_hinders_nobody(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    await still_answers(phone_stack, tmp_path / "before")
    before = await settled(phone_stack)
    async with asyncio.TaskGroup() as tasks:
        flood = tasks.create_task(
            sipp(
                "unknown_number",
                phone_stack.address,
                tmp_path,
                number=UNKNOWN_NUMBER,
                calls=FLOOD_CALLS,
                per_second=FLOOD_PER_SECOND,
            )
        )
        await still_answers(phone_stack, tmp_path / "during")
        assert not flood.done(), "the flood was over before the call was"
    await nothing_is_left(phone_stack, before)
    await still_answers(phone_stack, tmp_path / "after")


async def test_what_is_not_sip_is_survived(phone_stack: PhoneStack, tmp_path: Path) -> None:
    host, _, port = phone_stack.address.partition(":")
    loop = asyncio.get_running_loop()
    transport, _ = await loop.create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=(host, int(port))
    )
    invite = f"INVITE sip:{NUMBER}@{phone_stack.address} SIP/2.0\r\n"
    for message in (
        b"",
        b"\0" * 1400,
        b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: phone\r\n\r\n",
        b"INVITE\r\n\r\n",
        b"SIP/2.0 200 OK\r\n\r\n",
        f"{invite}\r\n".encode(),
        f"{invite}Via: SIP/2.0/UDP {host}:1;branch=x\r\nContent-Length: -1\r\n\r\n".encode(),
        f"{invite}Via: SIP/2.0/UDP {host}:1;branch=x\r\nCSeq: many INVITE\r\n\r\n".encode(),
        f"{invite}{'X-Long: ' + 'x' * 60_000}\r\n\r\n".encode(),
    ):
        transport.sendto(message)
    transport.close()
    await still_answers(phone_stack, tmp_path / "after")
    assert phone_stack.stack.log("sip").count("panic") == 0
