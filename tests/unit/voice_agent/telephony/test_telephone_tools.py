"""The tools of telephone calls, called as LiveKit calls them."""

import json
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from livekit.agents.voice import SpeechHandle
from livekit.rtc.participant import PublishDTMFError

from voice_agent.personas import load_persona
from voice_agent.scopes import Grants, Scope
from voice_agent.settings import AgentSettings
from voice_agent.telephony.card_capture import CaptureFailed, StoredCard
from voice_agent.telephony.phone_spec import TransferSpec
from voice_agent.telephony.transfer import TransferFailed
from voice_agent.tool_context import tool_context
from voice_agent.tools.definition import ToolContext
from voice_agent.tools.execution import bind
from voice_agent.tools.registry import TOOLS
from voice_agent.tools.transfer_call import transfer_tool

NOW = datetime(2026, 11, 21, 10, 15)

TRANSFER = transfer_tool(
    {
        "accounts": TransferSpec(number="+15550199", when="Invoices."),
        "sales": TransferSpec(number="+15550198", when="Buying.", how="warm"),
    }
)


class Phone:
    takes_cards = True

    def __init__(self) -> None:
        self.pressed: list[str] = []
        self.transfers: list[tuple[str, str]] = []
        self.refused = False
        self.error: Exception | None = None

    async def press(self, row: str) -> None:
        self._fail()
        self.pressed.append(row)

    async def refuse_calls(self) -> None:
        self.refused = True

    async def transfer(self, session: Any, name: str, summary: str) -> None:
        self.transfers.append((name, summary))
        self._fail()

    async def take_card(self, session: Any, today: date) -> StoredCard:
        assert today == NOW.date()
        self._fail()
        return StoredCard("card_1", "1111", "Visa")

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


class Line:
    room_name = "room-1"


class Run:
    """The part of a `RunContext` that these tools use."""

    session = None

    def __init__(self, *, interrupted: bool = False) -> None:
        self.speech_handle = SpeechHandle.create()
        self._interrupted = interrupted
        self.played_out = False

    def disallow_interruptions(self) -> None:
        if self._interrupted:
            raise RuntimeError("already interrupted")

    async def wait_for_playout(self) -> None:
        self.played_out = True


@pytest.fixture
def phone() -> Phone:
    return Phone()


@pytest.fixture
def context(phone: Phone, tmp_path: Path) -> ToolContext:
    line: Any = Line()
    persona = load_persona("front_desk").model_copy(update={"filler": None})
    settings = AgentSettings(database=tmp_path / "appointments.db")
    context = tool_context(line, settings, persona, lambda: NOW)
    grants = Grants([Scope.CALL_CONTROL, Scope.CARD_TAKE])
    return replace(context, phone=phone, grants=grants)


async def call(
    context: ToolContext, name: str, *, interrupted: bool = False, **arguments: object
) -> Any:
    tool: Any = bind(TRANSFER if name == "transfer_call" else TOOLS[name], context)
    result = await tool(arguments, Run(interrupted=interrupted))
    return None if result is None else json.loads(result)


async def test_keys_are_pressed(context: ToolContext, phone: Phone) -> None:
    assert await call(context, "press_keys", keys="1 2#") == {"status": "pressed"}
    assert phone.pressed == ["12#"]


@pytest.mark.parametrize("keys", [None, 5, "", "+15550199", "1" * 25, "1;2", "A"])
async def test_only_keys_are_pressed(context: ToolContext, phone: Phone, keys: object) -> None:
    assert "keys:" in (await call(context, "press_keys", keys=keys))["error"]
    assert phone.pressed == []


async def test_keys_that_cannot_be_sent(context: ToolContext, phone: Phone) -> None:
    phone.error = PublishDTMFError("no")
    assert "say what you need" in (await call(context, "press_keys", keys="1"))["error"]


async def test_of_a_card_the_model_gets_a_token(context: ToolContext) -> None:
    assert await call(context, "take_card") == {
        "status": "stored",
        "card_token": "card_1",
        "brand": "Visa",
        "last_four": "1111",
    }


@pytest.mark.parametrize("reason", ["stopped", "mistakes", "too slow", "refused", "not alone"])
async def test_without_a_card_the_model_is_told_what_to_do(
    context: ToolContext, phone: Phone, reason: str
) -> None:
    phone.error = CaptureFailed(reason)
    assert (await call(context, "take_card"))["error"].endswith(".")


async def test_no_filler_is_said_to_a_caller_who_looks_at_a_card(context: ToolContext) -> None:
    run = Run()
    tool: Any = bind(TOOLS["take_card"], context)
    await tool({}, run)
    assert run.speech_handle.id in context.record.filled_turns
    assert run.played_out


async def test_a_model_only_picks_a_name(context: ToolContext, phone: Phone) -> None:
    schema = TRANSFER.schema["parameters"]
    assert schema["properties"]["destination"]["enum"] == ["accounts", "sales"]
    assert "555" not in json.dumps(TRANSFER.schema)
    wish = {"destination": "sales", "summary": "Peter wants to buy."}
    assert await call(context, "transfer_call", **wish) is None
    assert phone.transfers == [("sales", "Peter wants to buy.")]


@pytest.mark.parametrize("destination", ["+15550000", "sip:x@y", "", None, "Accounts", ["sales"]])
async def test_a_model_cannot_make_a_destination_up(
    context: ToolContext, phone: Phone, destination: object
) -> None:
    refused = await call(context, "transfer_call", destination=destination)
    assert refused["error"].startswith("destination:")
    assert phone.transfers == []


@pytest.mark.parametrize("reason", ["busy", "no answer", "declined", "failed", "unknown number"])
async def test_a_failed_transfer_is_the_models_to_mend(
    context: ToolContext, phone: Phone, reason: str
) -> None:
    phone.error = TransferFailed(reason)
    told = (await call(context, "transfer_call", destination="sales"))["error"]
    assert told.startswith("The caller is still on the line and has been told")


async def test_who_wants_no_calls_is_noted(context: ToolContext, phone: Phone) -> None:
    assert (await call(context, "do_not_call"))["status"] == "noted"
    assert phone.refused


@pytest.mark.parametrize("name", ["press_keys", "do_not_call", "take_card", "transfer_call"])
async def test_a_browser_has_no_telephone(context: ToolContext, name: str) -> None:
    in_browser = replace(context, phone=None)
    refused = await call(in_browser, name, keys="1", destination="sales")
    assert "not on a telephone" in refused["error"]


@pytest.mark.parametrize("name", ["press_keys", "do_not_call", "take_card", "transfer_call"])
async def test_nothing_that_is_said_grants_a_scope(context: ToolContext, name: str) -> None:
    without = replace(context, grants=Grants([]))
    refused = await call(without, name, keys="1", destination="sales", scope="call:control")
    assert "not allowed" in refused["error"]


@pytest.mark.parametrize("name", ["take_card", "transfer_call"])
async def test_a_caller_who_speaks_again_is_listened_to(
    context: ToolContext, phone: Phone, name: str
) -> None:
    refused = await call(context, name, interrupted=True, destination="sales")
    assert "listen first" in refused["error"]
    assert phone.transfers == []
