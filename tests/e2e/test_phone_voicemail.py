"""We call somebody: a person is talked to, a machine gets a message or nothing, a menu gets keys.

In a network of its own: `python -m tests.phone_network`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from tests.heard import share_heard
from tests.phone_desk import AGENT, COLLEAGUE, GREETING, MESSAGE, Desk
from tests.scripted_model import ANYTHING, TOOL_RESULT, ToolCall
from tests.softphone import CallEnded, Softphone
from tests.spoken import silence, speak
from tests.telephone_sound import RATE_HZ, Pcm16, is_silence, sound_of
from voice_agent.phone.dialling import CallPlan, CallResult, LiveKitDialler
from voice_agent.phone.outcome import Outcome

pytestmark = pytest.mark.timeout(240)  # the first test of a session starts the stack as well

MACHINE = "Hi, this is Anna. I am not here. Please leave a message after the tone."
MENU = "Your call is important to us. Press one for tickets, or press two for help."
PERSON = "Hello?"
BEEP_HZ, BEEP_S = 1000.0, 0.5


def beep() -> Pcm16:
    """The tone after which a machine records."""
    seconds = np.arange(round(BEEP_S * RATE_HZ)) / RATE_HZ
    return (9000 * np.sin(2 * np.pi * BEEP_HZ * seconds)).astype(np.int16)


def machine() -> Pcm16:
    """What an answering machine says."""
    return np.concatenate((speak(MACHINE, rate_hz=RATE_HZ), silence(0.5, RATE_HZ), beep()))


@asynccontextmanager
async def calling(
    desk: Desk, folder: Path, persona: str = AGENT
) -> AsyncIterator[tuple[Softphone, asyncio.Task[CallResult]]]:
    """Have the desk call somebody; who has answered, and how the call will have ended."""
    async with desk.colleague(folder) as phone, desk.stack.api() as client:
        plan = CallPlan(desk.trunk_id, AGENT, f'{{"persona": "{persona}"}}')
        call = asyncio.create_task(LiveKitDialler(client, "livekit", plan).dial(COLLEAGUE))
        await phone.answered()
        yield phone, call
    await desk.stack.until_no_room_is_left()


async def test_a_machine_gets_the_message_after_its_beep(desk: Desk, tmp_path: Path) -> None:
    async with calling(desk, tmp_path / "machine") as (phone, call):
        await phone.say(machine())
        recorded = phone.heard().size
        before = phone.heard()
        await phone.ended()
        assert (await call).outcome is Outcome.VOICEMAIL
        assert is_silence(before), "it talks to a machine"
        assert share_heard(MESSAGE, sound_of(phone.heard()[recorded:]), RATE_HZ) > 0.6


async def test_a_machine_is_hung_up_on_where_there_is_no_message(
    desk: Desk, tmp_path: Path
) -> None:
    async with calling(desk, tmp_path / "machine", "desk_without_message") as (phone, call):
        with pytest.raises(CallEnded):
            await phone.say(np.concatenate((machine(), silence(20, RATE_HZ))))
        assert (await call).outcome is Outcome.VOICEMAIL
        assert is_silence(phone.heard()), "it talks to a machine"


async def test_a_person_is_greeted_once_they_have_spoken(desk: Desk, tmp_path: Path) -> None:
    desk.model.script = {}
    async with calling(desk, tmp_path / "person") as (phone, call):
        await phone.say(np.concatenate((silence(1.0, RATE_HZ), speak(PERSON, rate_hz=RATE_HZ))))
        before = phone.heard()
        await phone.until_audible(before.size)
        await phone.until_silent()
        greeted = phone.heard()[before.size :]
        await phone.hang_up()
        assert (await call).outcome is Outcome.ANSWERED
    assert share_heard(GREETING, sound_of(greeted), RATE_HZ) > 0.6


async def test_a_menu_is_answered_with_keys(desk: Desk, tmp_path: Path) -> None:
    desk.model.script = {ANYTHING: ToolCall("press_keys", {"keys": "2"}), TOOL_RESULT: "Thank you."}
    async with calling(desk, tmp_path / "menu") as (phone, call):
        await phone.say(speak(MENU, "rms", RATE_HZ))
        await phone.until_keys()
        await phone.hang_up()
        assert (await call).outcome is Outcome.ANSWERED
    assert phone.keys() == "2"
    assert '"by": "menu"' in desk.stack.stack.log(AGENT)
