import asyncio
from typing import Any

import pytest
from livekit.agents.voice import SpeechHandle

from tests.unit.voice_agent.telephony.rooms import Session
from voice_agent.telephony.hold import Hold


async def test_words_and_then_a_tone_while_nobody_listens() -> None:
    session: Any = Session()
    async with Hold(session, "One moment."):
        assert session.said == ["One moment."]
        assert session.tone_sounds
        assert session.input.heard is False
    assert not session.tone_sounds
    assert session.input.heard is True
    assert session.away_timer_resets == 1


async def test_it_may_begin_without_a_word() -> None:
    session: Any = Session()
    async with Hold(session, None):
        assert session.said == []
        assert session.tone_sounds


async def test_the_tone_ends_whatever_happens() -> None:
    session: Any = Session()
    with pytest.raises(ZeroDivisionError):
        async with Hold(session, "One moment."):
            raise ZeroDivisionError
    assert not session.tone_sounds
    assert session.input.heard is True


async def test_a_caller_who_hangs_up_during_the_words_hears_no_tone() -> None:
    session: Any = Session()
    begun = asyncio.Event()
    speak = session.say

    def say(text: str, **options: Any) -> SpeechHandle:
        if options.get("audio") is not None:
            begun.set()
            handle: SpeechHandle = speak(text, **options)
            return handle
        return SpeechHandle.create()

    session.say = say

    async def hold() -> None:
        async with Hold(session, "One moment."):
            pass

    holding = asyncio.create_task(hold())
    await asyncio.wait_for(begun.wait(), 5)
    holding.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holding
    assert not session.tone_sounds
    assert session.input.heard is True
