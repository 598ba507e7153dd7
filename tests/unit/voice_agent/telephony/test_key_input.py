import asyncio
from typing import Any

import pytest

from voice_agent.telephony.key_input import KeyInput
from voice_agent.telephony.phone_spec import KeySpec


class Inbox:
    def __init__(self, **spec: Any) -> None:
        self.begun = 0
        self.entries: asyncio.Queue[str] = asyncio.Queue()
        self.input = KeyInput(KeySpec(**spec), self._begin, self.entries.put_nowait)

    def _begin(self) -> None:
        self.begun += 1

    def press(self, keys: str) -> None:
        for key in keys:
            self.input.press(key)

    async def next(self) -> str:
        return await asyncio.wait_for(self.entries.get(), 5)


async def test_digits_are_one_turn_of_the_caller() -> None:
    inbox = Inbox()
    inbox.press("1234#")
    assert await inbox.next() == "keys: 1234"
    assert inbox.begun == 1


async def test_a_pause_ends_them_as_well() -> None:
    inbox = Inbox(pause_s=0.5)
    inbox.press("42")
    assert inbox.entries.empty()
    assert await inbox.next() == "keys: 42"


async def test_a_menu_says_what_a_key_means() -> None:
    inbox = Inbox(menu={"1": "I would like to book an appointment."}, length=1)
    inbox.press("19")
    assert await inbox.next() == "I would like to book an appointment."
    assert await inbox.next() == "keys: 9"
    assert inbox.begun == 2


async def test_a_card_number_nobody_asked_for_goes_no_further() -> None:
    inbox = Inbox()
    inbox.press("4111111111111111#")
    assert await inbox.next() == "keys: [card number]"


async def test_what_was_begun_can_be_dropped() -> None:
    inbox = Inbox()
    inbox.press("411111")
    inbox.input.drop()
    inbox.press("2#")
    assert await inbox.next() == "keys: 2"


@pytest.mark.parametrize(
    "spec",
    [{"menu": {"12": "x"}}, {"menu": {"a": "x"}}, {"length": 0}, {"length": 99}, {"pause_s": 0}],
)
def test_a_wrong_menu_is_refused(spec: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="1 validation error"):
        KeySpec(**spec)
