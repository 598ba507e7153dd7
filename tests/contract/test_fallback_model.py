"""A conversation whose first language model fails, is silent, and comes back."""

import asyncio
import socket
from collections.abc import AsyncIterator
from datetime import date, datetime, time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from speech_plugins import LLM
from speech_plugins.fallback_llm import FallbackLLM
from tests.contract.livekit_plugins.relay import Relay
from tests.contract.text_call import TextCaller, running_responder, scripted_model
from voice_agent.appointments import SqliteAppointmentBook
from voice_agent.database import Database
from voice_agent.personas import load_persona
from voice_agent.prompt import system_prompt

NOW = datetime(2026, 11, 21, 10, 15)  # a Saturday
BOOKING = "I would like to book an appointment on Tuesday at three thirty. My name is Peter Miller."


class Caller(TextCaller):
    """Somebody who calls the front desk, which has two models."""

    def __init__(self, first: str, second: str, path: Path) -> None:
        persona = load_persona("front_desk")
        self.both = FallbackLLM(
            LLM(url=f"{first}/v1", model="parley-responder"),
            scripted_model(second, persona),
            instructions=system_prompt(persona),
            probe_interval_s=0.05,
        )
        super().__init__(self.both, persona, path, lambda: NOW)
        self.book = SqliteAppointmentBook(Database(path))


@pytest.fixture
async def second() -> AsyncIterator[str]:
    async with running_responder() as url:
        yield url


async def test_a_tool_runs_once_whoever_asks_for_it(second: str, tmp_path: Path) -> None:
    async with (
        running_responder() as first,
        Relay.running(urlsplit(first).port or 0) as cable,
        Caller(cable.url, second, tmp_path / "appointments.db") as caller,
    ):
        assert "Friday" in await caller.say("What are your opening hours?")
        assert caller.both.provider_state.is_well

        await cable.pull()
        assert await caller.say(BOOKING)
        assert caller.tools_run.count("book_appointment") == 1
        (booked,) = await caller.book.find("Peter Miller", since=NOW)
        assert (booked.day, booked.time) == (date(2026, 11, 24), time(15, 30))
        assert not caller.both.provider_state.is_well

        back = asyncio.Event()
        caller.both.provider_state.call_when_well(back.set)
        await cable.plug_in()
        async with asyncio.timeout(10):
            await back.wait()
        assert await caller.say("When is my appointment?")
        assert caller.both.provider_state.is_well


async def test_a_silent_model_costs_no_turn(second: str, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:  # the kernel takes the connection
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        async with Caller(url, second, tmp_path / "appointments.db") as caller:
            for question in ("Hello.", "What are your opening hours?"):
                answer = await caller.say(question)
                assert answer
                assert caller.persona.apology not in answer
