import json
import os
import subprocess
import sys
from datetime import datetime

import pytest
from livekit.agents.voice.generation import update_instructions

from voice_agent.personas import Persona, load_persona
from voice_agent.prompt import call_context, call_prompt, persona_clock, system_prompt
from voice_agent.tools.registry import TOOLS

MONDAY = datetime(2026, 11, 23, 9, 5)
SATURDAY = datetime(2026, 11, 21, 10, 15)


def request_messages(now: datetime) -> list[dict[str, object]]:
    """The messages of a request, as LiveKit's own OpenAI formatter writes them."""
    context = call_context(now)
    prompt = system_prompt(load_persona("front_desk"))
    update_instructions(context, instructions=prompt, add_if_missing=True)
    context.add_message(role="user", content="Hello")
    messages, _ = context.to_provider_format("openai")
    return messages


def test_the_first_message_has_the_same_bytes_in_every_call() -> None:
    one, other = request_messages(SATURDAY), request_messages(MONDAY)
    assert json.dumps(one[0]).encode() == json.dumps(other[0]).encode()
    assert one[0]["role"] == "system"
    assert one[0]["content"] == system_prompt(load_persona("front_desk"))
    assert one[1] != other[1]


def test_what_differs_between_calls_comes_second() -> None:
    messages = request_messages(SATURDAY)
    assert [message["role"] for message in messages] == ["system", "system", "user"]
    assert str(messages[1]["content"]).splitlines()[0] == (
        "Current date and time: Saturday 21 November 2026, 10:15 (2026-11-21T10:15)"
    )


def test_coming_days_are_spelt_out() -> None:
    assert "Tuesday 2026-11-24" in call_prompt(SATURDAY)
    assert "Saturday 2026-11-28" in call_prompt(SATURDAY)


def test_the_prompt_knows_no_clock() -> None:
    prompt = system_prompt(load_persona("front_desk"))
    assert "2026" not in prompt
    assert "Current date and time" not in prompt


def test_prompt_and_tools_have_the_same_bytes_in_every_process() -> None:
    code = (
        "import json; from voice_agent.personas import load_persona;"
        "from voice_agent.prompt import system_prompt;"
        "from voice_agent.tools.registry import TOOLS;"
        "print(json.dumps([system_prompt(load_persona('front_desk')),"
        "*(tool.schema for tool in TOOLS.values())]))"
    )
    here = json.dumps(
        [system_prompt(load_persona("front_desk")), *(tool.schema for tool in TOOLS.values())]
    )
    there = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=True,
        text=True,
    )
    assert there.stdout.strip() == here


@pytest.mark.parametrize("zone", [None, "Pacific/Kiritimati", "America/Los_Angeles"])
def test_the_clock_is_on_the_practices_wall(zone: str | None) -> None:
    persona = Persona(
        name="clerk",
        disclosure="robot",
        greeting="robot",
        instructions="x",
        timezone=zone,
    )
    now = persona_clock(persona)()
    assert now.tzinfo is None
