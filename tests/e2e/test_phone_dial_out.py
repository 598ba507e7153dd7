"""`parley phone` calls people through livekit-sip: what the telephone does is what is reported.

In a network of its own: `python -m tests.phone_network`.
"""

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bench.children import free_port
from tests.isolated_network import NEAR_IPV4
from tests.phone_stack import PhoneStack, apply_trunks
from tests.sip_telephone import ANSWERS, RINGS_ON, SipTelephone, sip_telephone
from voice_agent.opening_hours import WEEKDAYS
from voice_agent.phone.apply import read_provisioned
from voice_agent.phone.dialling import CallPlan, LiveKitDialler, outbound_trunk_id
from voice_agent.phone.outcome import Outcome

pytestmark = pytest.mark.timeout(240)  # the first test of a session starts the stack as well

PERSON, BUSY, DECLINES, NOBODY, ABSENT, BROKEN = (f"+1555014{digit}" for digit in range(6))
ANSWER = {PERSON: ANSWERS, BUSY: 486, DECLINES: 603, NOBODY: 404, ABSENT: RINGS_ON, BROKEN: 503}
TRUNK = "carrier"


@pytest.fixture(scope="module")
def carrier(phone_stack: PhoneStack, tmp_path_factory: pytest.TempPathFactory) -> int:
    """Port to which the trunk leads."""
    port = free_port(socket.SOCK_DGRAM, NEAR_IPV4)
    trunks = tmp_path_factory.mktemp("carrier") / "trunks.yaml"
    trunks.write_text(
        f"outbound:\n  {TRUNK}: {{address: '{NEAR_IPV4}:{port}', numbers: ['+15550100']}}\n"
    )
    apply_trunks(phone_stack.stack, trunks)
    return port


@pytest.fixture
async def telephone(carrier: int) -> AsyncIterator[SipTelephone]:
    """Somebody to call."""
    async with sip_telephone(NEAR_IPV4, carrier, ANSWER) as telephone:
        yield telephone


async def parley(stack: PhoneStack, *arguments: str | Path) -> tuple[int, str]:
    """Run `parley phone …` as an operator would; its status and what it wrote."""
    async with running(stack, *arguments) as process:
        output, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, output.decode()


@asynccontextmanager
async def running(
    stack: PhoneStack, *arguments: str | Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    """`parley phone …` while it runs."""
    process = await asyncio.create_subprocess_exec(
        Path(sys.executable).parent / "parley", "phone", *arguments,
        env=environment(stack),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def environment(stack: PhoneStack) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    return kept | {
        "PARLEY_HOME": os.fspath(stack.stack.home),
        "LIVEKIT_URL": stack.stack.livekit_url,
        "LIVEKIT_API_KEY": stack.stack.livekit_api_key,
        "LIVEKIT_API_SECRET": stack.stack.livekit_api_secret,
    }


def where_it_is_noon() -> str:
    """A time zone in which it is between 12 and 13 o'clock, for calling hours that are never over.

    Its names count westwards: in Etc/GMT+5 it is five hours before UTC.
    """
    return f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"


@pytest.mark.parametrize(
    ("number", "outcome", "status"),
    [
        (BUSY, Outcome.BUSY, 486),
        (DECLINES, Outcome.DECLINED, 603),
        (NOBODY, Outcome.NO_SUCH_NUMBER, 404),
        (BROKEN, Outcome.TRUNK_FAILED, 503),
        (ABSENT, Outcome.NO_ANSWER, None),
    ],
)
async def test_a_call_that_is_not_answered(
    phone_stack: PhoneStack,
    telephone: SipTelephone,
    number: str,
    outcome: Outcome,
    status: int | None,
) -> None:
    async with phone_stack.api() as client:
        trunk = await outbound_trunk_id(client, TRUNK)
        plan = CallPlan(trunk, "parley", '{"persona": "front_desk"}', ringing_s=5)
        result = await LiveKitDialler(client, "livekit", plan).dial(number)
    assert (result.outcome, result.sip_status) == (outcome, status)
    assert telephone.called == [number]
    assert telephone.cancelled == ([number] if number == ABSENT else [])
    await phone_stack.until_no_room_is_left()


async def test_who_answers_is_greeted_and_hanging_up_ends_it(
    phone_stack: PhoneStack, telephone: SipTelephone
) -> None:
    call = asyncio.create_task(
        parley(phone_stack, "call", PERSON, "--persona", "front_desk", "--trunk", TRUNK, "--wait")
    )
    await telephone.heard.wait()
    telephone.hang_up()
    assert await call == (0, "Calling …0140 …\nAnswered.\n")
    await phone_stack.until_no_room_is_left()


async def test_a_call_is_listed_and_hung_up(
    phone_stack: PhoneStack, telephone: SipTelephone
) -> None:
    status, output = await parley(
        phone_stack, "call", PERSON, "--persona", "front_desk", "--trunk", TRUNK
    )
    assert status == 0, output
    room = output.split()[-1]
    _, listed = await parley(phone_stack, "list")
    assert f"{room}: out …0140, active" in listed, listed
    assert "NO AGENT" not in listed
    status, _ = await parley(phone_stack, "hangup", room)
    assert status == 0
    await telephone.hung_up.wait()
    await phone_stack.until_no_room_is_left()


async def test_a_ringing_call_that_is_cancelled_stops_ringing(
    phone_stack: PhoneStack, telephone: SipTelephone
) -> None:
    async with phone_stack.api() as client:
        trunk = await outbound_trunk_id(client, TRUNK)
        plan = CallPlan(trunk, "parley", "{}", ringing_s=30)
        call = asyncio.create_task(LiveKitDialler(client, "livekit", plan).dial(ABSENT))
        await telephone.until_rung(ABSENT)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await telephone.until_cancelled(ABSENT)
    await phone_stack.until_no_room_is_left()


def campaign(folder: Path, rows: dict[str, str], never: str = "") -> tuple[str | Path, ...]:
    """The command that works off a list.

    Args:
        folder: for its files.
        rows: number → consent.
        never: the list of who must not be called.
    """
    calls, listed, rules = (folder / name for name in ("calls.csv", "no.txt", "rules.yaml"))
    calls.write_text("number,consent\n" + "".join(f"{n},{yes}\n" for n, yes in rows.items()))
    listed.write_text(never)
    hours = "".join(f"  {day.lower()}: 08:00-20:00\n" for day in WEEKDAYS)
    pace = "attempts: 1\ncalls_per_minute: 120\nconcurrency: 2\n"
    rules.write_text(f"timezone: {where_it_is_noon()}\n{pace}hours:\n{hours}")
    return ("campaign", calls, "--persona", "front_desk", "--do-not-call", listed,
            "--rules", rules, "--trunk", TRUNK)  # fmt: skip


async def test_a_list_is_worked_off_once(
    phone_stack: PhoneStack, telephone: SipTelephone, tmp_path: Path
) -> None:
    called = (BUSY, DECLINES, NOBODY, BROKEN)
    rows = {**dict.fromkeys(called, "yes"), PERSON: "no", ABSENT: "yes"}
    command = campaign(tmp_path, rows, never=f"{ABSENT}  # asked in May\n")
    status, output = await parley(phone_stack, *command)
    assert status == 0, output
    assert sorted(telephone.called) == sorted(called)
    assert "1 did not, and are left out." in output
    assert "1 people stand in the list" in output
    assert "…0141 busy (SIP 486), call 1 of at most 1; " in output
    again, _ = await parley(phone_stack, *command)
    assert (again, len(telephone.called)) == (0, len(called))


async def test_ctrl_c_twice_hangs_up_and_nobody_is_called_again(
    phone_stack: PhoneStack, telephone: SipTelephone, tmp_path: Path
) -> None:
    command = campaign(tmp_path, {ABSENT: "yes", BUSY: "yes"})
    async with running(phone_stack, *command) as process:
        assert process.stdout is not None
        await telephone.until_rung(ABSENT)
        process.send_signal(signal.SIGINT)
        async for line in process.stdout:
            if b"No further calls" in line:
                break
        process.send_signal(signal.SIGINT)
        rest = await process.stdout.read()
        assert await process.wait() == 130
    assert b"Stopped, and hung up." in rest
    assert telephone.cancelled == [ABSENT]
    await parley(phone_stack, *command)
    assert telephone.called.count(ABSENT) == 1


async def test_doctor_finds_nothing_wrong_and_sees_the_whole_way(
    phone_stack: PhoneStack, telephone: SipTelephone
) -> None:
    status, output = await parley(phone_stack, "doctor", "--json")
    checks = {check["subject"]: check for check in json.loads(output)["checks"]}
    assert checks[f"signalling {phone_stack.address}"]["detail"] == "udp 200 OK, tcp 200 OK"
    assert checks["LiveKit and Redis"]["status"] == "ok"
    assert checks["worker parley"]["status"] == "ok"
    assert [name for name, check in checks.items() if check["status"] == "problem"] == []
    assert status == 0


async def test_applying_a_file_leaves_other_trunks_alone(
    phone_stack: PhoneStack, telephone: SipTelephone
) -> None:
    async with phone_stack.api() as client:
        found = await read_provisioned(client.sip)
    assert [trunk.name for trunk in found.outbound] == [TRUNK]
    assert len(found.inbound) == 2
