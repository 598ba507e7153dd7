"""Keys of a telephone, as RFC 4733 events: a menu, entries, and far too many of them.

In a network of its own: `python -m tests.phone_network`.
"""

import asyncio
from pathlib import Path

import pytest

from tests.heard import share_heard
from tests.key_storm import write_capture
from tests.phone_desk import AGENT, NUMBER, Desk
from tests.room_watcher import watching
from tests.scripted_model import Script, ToolCall
from tests.sipp import sipp
from tests.softphone import Softphone
from tests.telephone_sound import RATE_HZ, sound_of

pytestmark = pytest.mark.timeout(240)  # the first test of a session starts the stack as well

BOOK = "I would like to book a test ride."
"""What key 1 means, by the desk's persona."""
BOOKING = "We have a bicycle for you on Monday morning."
LOOKED_UP = "Thank you, the bicycle of that order is ready. " * 3
AGAIN = "That order was delivered on Friday of last week."
SCRIPT: Script = {BOOK: BOOKING, "keys: 4711": LOOKED_UP, "keys: 2580": AGAIN}

STORM = "0123456789*ABCD" * 20


async def answer_to(phone: Softphone, keys: str, words: str) -> None:
    """Press keys; the answer is heard as a caller hears it."""
    await phone.press(keys)
    due = phone.heard().size
    await phone.until_audible(due)
    await phone.until_silent()
    assert share_heard(words, sound_of(phone.heard()[due:]), RATE_HZ) > 0.5


async def test_keys_are_a_menu_and_entries_and_silence_the_agent(
    desk: Desk, tmp_path: Path
) -> None:
    desk.model.requests.clear()
    async with desk.call(tmp_path / "phone", SCRIPT) as phone, watching(desk.stack) as seen:
        await answer_to(phone, "1#", BOOKING)
        await phone.press("4711#")
        await phone.until_audible(phone.heard().size)
        # ended by a pause, in the middle of a long answer
        await answer_to(phone, "2580", AGAIN)
    said = [text for text in desk.model.asked() if text in SCRIPT]
    assert said == [BOOK, "keys: 4711", "keys: 2580"]
    assert seen.keys == list("1#4711#2580")
    spoken = [m["content"] for m in desk.model.requests[-1]["messages"] if m["role"] == "assistant"]
    assert LOOKED_UP.strip() not in spoken, "it is not cut short by a key"


async def test_a_storm_of_keys_is_survived(desk: Desk, tmp_path: Path) -> None:
    desk.model.requests.clear()
    desk.model.script = {"keys: 2580": ToolCall("end_call")}
    write_capture(tmp_path / "keys.pcap", STORM, "2580#", per_packet=2, rest_s=15)
    async with asyncio.TaskGroup() as tasks:
        # it ends when the agent has understood the entry after the storm, and hangs up
        tasks.create_task(sipp("key_storm", desk.stack.address, tmp_path, number=NUMBER))
        async with desk.worker.alive(), watching(desk.stack) as seen:
            await desk.model.until_asked("keys: 2580")
    await desk.stack.until_no_room_is_left()
    assert len(seen.keys) > len(STORM) / 2, "the storm did not come"
    assert "keys come too fast" in desk.stack.stack.log(AGENT)
    assert desk.model.asked()[1:] == ["keys: 2580"]
