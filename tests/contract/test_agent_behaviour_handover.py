"""From reception to the accounts desk to a person: what goes with the caller, what does not."""

from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path

import pytest
from livekit.agents import NOT_GIVEN

from tests.contract.text_call import TextCaller, running_responder, scripted_model
from tests.unit.voice_agent.scripted_llm import Reply, ScriptedLLM, ToolCall
from voice_agent.personas import Persona, load_persona, read_persona
from voice_agent.prompt import call_prompt, system_prompt
from voice_agent.scopes import Scope
from voice_agent.tools.handover import MAX_HANDOVERS

NOW = datetime(2026, 11, 21, 10, 15)
TO_ACCOUNTS = ToolCall("transfer_to_accounts", "{}")
VERIFY = ToolCall("verify_identity", '{"customer_number": "352986", "date_of_birth": "1984-05-03"}')

TWO_WAYS = """\
name: house
disclosure: I am a robot.
greeting: Hello. I am a robot.
instructions: You are the hall.
hands_over_to: [kitchen]
tools: [end_call]
agents:
  kitchen:
    when: For food.
    instructions: You are the kitchen.
    hands_over_to: [cellar]
    tools: [verify_identity, account_balance]
    scopes: [identity:check, accounts:read, call:control]
  cellar:
    when: For wine.
    introduction: The cellar speaking.
    instructions: You are the cellar.
    voice: deep
    language: fr
    hands_over_to: [kitchen]
    tools: [account_balance]
    scopes: [accounts:read, call:control]
"""


@pytest.fixture
def house(tmp_path: Path) -> Persona:
    path = tmp_path / "house.yaml"
    path.write_text(TWO_WAYS)
    return read_persona(path)


def talk(persona: Persona, folder: Path, *steps: Reply | list[Reply]) -> TextCaller:
    return TextCaller(ScriptedLLM(*steps), persona, folder / "app.db", lambda: NOW)


@pytest.fixture
async def responder() -> AsyncIterator[str]:
    async with running_responder() as url:
        yield url


async def test_reception_accounts_person(responder: str, tmp_path: Path) -> None:
    persona = load_persona("bank_reception")
    model = scripted_model(responder, persona)
    async with TextCaller(model, persona, tmp_path / "app.db", datetime.now) as caller:
        assert await caller.say("Hello, good morning.")
        handed = await caller.say("Why did my balance change?")
        assert "This is the accounts desk." in handed
        assert "customer number" in handed
        assert caller.session.current_agent.id == "accounts"
        await caller.say("My customer number is three five two, nine eight six.")
        told = await caller.say("I was born on the third of May, nineteen eighty four.")
        assert "814 pounds 91" in told
        assert "call you back" in await caller.say("I would like to speak to a person.")
        assert caller.line.handoff


async def test_the_next_agent_knows_what_was_said_and_nothing_of_the_last_ones_tools(
    tmp_path: Path,
) -> None:
    persona = load_persona("bank_reception")
    accounts = persona.colleague("accounts")
    async with talk(persona, tmp_path, ["One moment.", TO_ACCOUNTS], "Your number?") as caller:
        assert caller.warmed == [system_prompt(accounts)]
        await caller.say("Why did my balance change?")
        model = caller.model
        assert isinstance(model, ScriptedLLM)
        messages = model.requests[-1]
        assert [(message["role"], message["content"]) for message in messages[:2]] == [
            ("system", system_prompt(accounts)),
            ("system", call_prompt(NOW)),
        ]
        said = [message["content"] for message in messages[2:]]
        assert said[0] == persona.greeting
        assert "Why did my balance change?" in said
        assert "One moment." in said
        assert {message["role"] for message in messages[2:]} <= {"user", "assistant"}
        assert not any(message.get("tool_calls") for message in messages)
        assert caller.said()[-2:] == ["This is the accounts desk.", "Your number?"]


async def test_what_a_caller_proved_goes_with_them_and_grants_stay_behind(
    house: Persona, tmp_path: Path
) -> None:
    steps: list[Reply] = [
        ToolCall("account_balance", "{}"),
        ToolCall("transfer_to_kitchen", "{}"),
        ToolCall("account_balance", "{}"),
        VERIFY,
        ToolCall("transfer_to_cellar", "{}"),
        ToolCall("account_balance", "{}"),
        ToolCall("verify_identity", "{}"),
        "That is all.",
    ]
    async with talk(house, tmp_path, *steps) as caller:
        await caller.say("My balance, please.")
        # the hall has no such tool, the kitchen may not yet, the cellar may at last
        assert caller.tools_run == [
            "transfer_to_kitchen",
            "verify_identity",
            "transfer_to_cellar",
            "account_balance",
        ]
        assert caller.said()[-2:] == ["The cellar speaking.", "That is all."]


async def test_nobody_is_sent_in_circles_for_ever(house: Persona, tmp_path: Path) -> None:
    circle = ("transfer_to_cellar", "transfer_to_kitchen") * 20
    steps = [ToolCall(name, "{}") for name in ("transfer_to_kitchen", *circle)]
    async with talk(house, tmp_path, *steps) as caller:
        await caller.say("Hello?")
        handed = [name for name in caller.tools_run if name.startswith("transfer_to_")]
        assert len(handed) == MAX_HANDOVERS
        assert caller.said()[-1] == house.apology


async def test_an_agent_may_have_a_voice_of_its_own(house: Persona, tmp_path: Path) -> None:
    steps = [
        ToolCall("transfer_to_kitchen", "{}"),
        "Food?",
        ToolCall("transfer_to_cellar", "{}"),
        "Du vin?",
    ]
    async with talk(house, tmp_path, *steps) as caller:
        await caller.say("Something to eat.")
        assert caller.session.current_agent.tts is NOT_GIVEN
        await caller.say("And to drink.")
        cellar = caller.session.current_agent
        assert cellar.tts is not NOT_GIVEN


async def test_a_hand_over_needs_the_scope(house: Persona, tmp_path: Path) -> None:
    assert Scope.CALL_CONTROL in house.granted
    mute = house.model_copy(update={"scopes": ()})
    async with talk(mute, tmp_path, ToolCall("transfer_to_kitchen", "{}"), "No.") as caller:
        assert await caller.say("Food?") == "No."
        assert caller.tools_run == []
