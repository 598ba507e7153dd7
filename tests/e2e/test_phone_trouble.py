"""What goes wrong around a call: sound in one direction, hold, too many callers, Redis gone.

In a network of its own: `python -m tests.phone_network`.
"""

import asyncio
import re
from collections import Counter
from pathlib import Path

import psutil
import pytest

from tests.phone_aftermath import nothing_is_left, settled, still_answers
from tests.phone_stack import NUMBER, PhoneStack
from tests.phone_talk import hear_answer, spoken
from tests.rtp_tap import rtp_tap
from tests.sipp import sipp
from tests.softphone import Softphone, softphone
from tests.telephone_sound import RATE_HZ
from voice_agent.stack.settings import RunSettings, media_ports

QUESTION = "2-opening-hours"
ULAW_SILENCE = b"\xff"
SOUND_S = 2
CALLERS, PER_SECOND = 60, 10
"""More at once than there are agents and ports for, for six seconds."""
SIP_PORTS = media_ports(RunSettings.model_fields["sip_rtp_ports"].default)
NO_AGENT, NO_PORT = 486, 500
"""SIP's busy here, and its server error."""

pytestmark = pytest.mark.timeout(240)  # the first test of a session starts the stack as well


async def ask(phone: Softphone) -> None:
    """Say something, and hear an answer to its end."""
    await phone.say(spoken(QUESTION))
    await hear_answer(phone, phone.heard().size)


async def test_calls_with_sound_in_one_direction_end_and_leave_nothing(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    (tmp_path / "sound.ul").write_bytes(ULAW_SILENCE * RATE_HZ * SOUND_S)
    scenarios = ("sound_stops", "nobody_listens")
    # As many at once as will call then, for what is kept for the next.
    async with asyncio.TaskGroup() as tasks:
        for scenario in scenarios:
            tasks.create_task(still_answers(phone_stack, tmp_path / scenario))
    before = await settled(phone_stack)
    async with asyncio.TaskGroup() as tasks:
        for scenario in scenarios:
            tasks.create_task(sipp(scenario, phone_stack.address, tmp_path, number=NUMBER))
    await nothing_is_left(phone_stack, before, len(scenarios))


async def test_a_call_outlives_being_put_on_hold(phone_stack: PhoneStack, tmp_path: Path) -> None:
    async with softphone(tmp_path / "phone") as phone:
        await phone.dial(f"sip:{NUMBER}@{phone_stack.address}")
        await hear_answer(phone, 0)
        for _ in range(2):
            await phone.hold()
            await phone.resume()
        # baresip records no more of what it hears once it has held a call.
        with rtp_tap(SIP_PORTS) as heard:
            await phone.say(spoken(QUESTION))
            await heard.wait()
        await phone.hang_up()
    await phone_stack.until_no_room_is_left()


async def test_who_is_being_answered_stays_so_while_too_many_others_call(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    scenario = "held_or_refused"
    async with softphone(tmp_path / "phone") as phone:
        await phone.dial(f"sip:{NUMBER}@{phone_stack.address}")
        await hear_answer(phone, 0)
        async with asyncio.TaskGroup() as tasks:
            others = tasks.create_task(
                sipp(
                    scenario,
                    phone_stack.address,
                    tmp_path,
                    number=NUMBER,
                    calls=CALLERS,
                    per_second=PER_SECOND,
                )
            )
            await phone.say(spoken(QUESTION))
            await phone.until_audible(phone.heard().size)
            assert not others.done(), "the others were gone before the answer came"
        await phone.hang_up()
    final = final_statuses(tmp_path / f"{scenario}.log")
    assert sum(final.values()) == CALLERS, final
    assert {NO_AGENT, NO_PORT} <= final.keys(), final
    await settled(phone_stack)
    await still_answers(phone_stack, tmp_path / "after")


async def test_a_call_goes_on_when_redis_dies_and_the_next_one_is_answered(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    async with softphone(tmp_path / "phone") as phone:
        await phone.dial(f"sip:{NUMBER}@{phone_stack.address}")
        await hear_answer(phone, 0)
        await phone_stack.kill_redis()
        await ask(phone)
        await phone.hang_up()
    await phone_stack.until_no_room_is_left()
    await still_answers(phone_stack, tmp_path / "after")


async def test_who_calls_while_redis_hangs_is_told_to_try_again(
    phone_stack: PhoneStack, tmp_path: Path
) -> None:
    redis = psutil.Process(phone_stack.processes["redis"])
    redis.suspend()
    try:
        await sipp("try_again_later", phone_stack.address, tmp_path, number=NUMBER)
    finally:
        redis.resume()
    await settled(phone_stack)
    await still_answers(phone_stack, tmp_path / "after")


def final_statuses(messages: Path) -> Counter[int]:
    """How many calls each final answer to an INVITE was given to, from what sipp has written."""
    answers = set()
    for message in re.split(r"^-{40,}.*$", messages.read_text(), flags=re.MULTILINE):
        status = re.search(r"^SIP/2\.0 ([2-6]\d\d) ", message, re.MULTILINE)
        call = re.search(r"^Call-ID: (\S+)", message, re.MULTILINE)
        if status and call and re.search(r"^CSeq: \d+ INVITE", message, re.MULTILINE):
            answers.add((int(status[1]), call[1]))
    return Counter(status for status, _ in answers)
