"""Models and tools that misbehave, in a real session: at worst the caller hears an apology."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import APIError

from tests.contract.text_call import TextCaller
from tests.unit.voice_agent.scripted_llm import Endless, Reply, ScriptedLLM, ToolCall
from voice_agent.personas import load_persona
from voice_agent.reply_guard import MAX_REPLY_CHARACTERS, SENTENCE_GRACE_CHARACTERS
from voice_agent.tools.definition import Result
from voice_agent.tools.registry import TOOLS

HOURS = ToolCall("opening_hours", "{}")
BACK = "I am here again."
SECRET = "Peter Miller of Mill Lane"


@asynccontextmanager
async def conversation(path: Path, *steps: Reply | list[Reply]) -> AsyncIterator[TextCaller]:
    persona = load_persona("front_desk")
    model = ScriptedLLM(*steps, BACK)
    async with TextCaller(model, persona, path / "appointments.db", datetime.now) as caller:
        yield caller


async def answers(caller: TextCaller, text: str = "Hello?") -> str:
    """What is said in answer; a failed model is the session's to report, not the test's."""
    before = len(caller.said())
    with suppress(APIError):
        await caller.say(text)
    return " ".join(caller.said()[before:])


async def goes_on(caller: TextCaller) -> bool:
    return BACK in await answers(caller, "Are you there?")


@pytest.mark.parametrize(
    "nothing",
    [
        [],
        [""],
        [" \n "],
        ["..."],
        ["\x00\x01\ufffd\u200b"],
        ["<|im_end|>"],
        ["<|im", "_end|>"],
        [ConnectionError("refused")],
        [ConnectionError("cut off inside a tool call")],
    ],
)
async def test_a_model_with_nothing_to_say_is_apologised_for(
    tmp_path: Path, nothing: list[Reply], caplog: pytest.LogCaptureFixture
) -> None:
    async with conversation(tmp_path, nothing) as caller:
        assert await answers(caller) == caller.persona.apology
        assert await goes_on(caller)
    reasons = ("model answered with nothing", "service failed")
    assert any(record.message.startswith(reasons) for record in caplog.records)


async def test_special_tokens_of_a_template_are_not_said(tmp_path: Path) -> None:
    async with conversation(tmp_path, ["<|im_start|>Good day.", "<|im_end|>", "</s>"]) as caller:
        assert await answers(caller) == "Good day."


@pytest.mark.parametrize("piece", ["And then I said so. ", "no sentence ends here ", "x"])
async def test_an_endless_reply_is_cut_and_its_stream_left(tmp_path: Path, piece: str) -> None:
    async with conversation(tmp_path, Endless(piece)) as caller:
        model = caller.model
        assert isinstance(model, ScriptedLLM)
        answer = await answers(caller)
        assert 0 < len(answer) <= MAX_REPLY_CHARACTERS + SENTENCE_GRACE_CHARACTERS
        await asyncio.wait_for(model.left.wait(), 5)
        assert await goes_on(caller)


@pytest.mark.parametrize(
    "nonsense",
    [
        ToolCall("fly_to_the_moon", "{}"),
        ToolCall("", "{}"),
        ToolCall("opening_hours", '{"day": "2026-1'),
        ToolCall("opening_hours", "[1, 2]"),
        ToolCall("opening_hours", '"text"'),
        ToolCall("opening_hours", '{"day": {"a": [null]}}'),
        ToolCall("book_appointment", '{"name": 7, "day": [], "time": true}'),
        ToolCall("book_appointment", '{"name": "' + "x" * 100_000 + '"}'),
    ],
)
async def test_a_call_that_makes_no_sense_is_told_to_the_model(
    tmp_path: Path, nonsense: ToolCall
) -> None:
    async with conversation(tmp_path, nonsense, "Sorry, which day?") as caller:
        assert await answers(caller) == "Sorry, which day?"
        assert caller.tools_run == []
        model = caller.model
        assert isinstance(model, ScriptedLLM)
        assert "Traceback" not in model.last_tool_result()
        assert len(model.last_tool_result()) < 1000


async def test_a_hundred_calls_in_one_answer_run_a_dozen(tmp_path: Path) -> None:
    async with conversation(tmp_path, [HOURS] * 100, "We are open.") as caller:
        assert await answers(caller) == "We are open."
        assert len(caller.tools_run) == 12
        assert await goes_on(caller)


async def test_a_hundred_calls_in_a_row_end_with_an_apology(tmp_path: Path) -> None:
    async with conversation(tmp_path, *[HOURS] * 100) as caller:
        assert await answers(caller) == caller.persona.apology
        model = caller.model
        assert isinstance(model, ScriptedLLM)
        assert len(model.requests) < 10


async def _raise(*_: object) -> Result:
    raise ValueError(SECRET)


async def _hang(*_: object) -> Result:
    await asyncio.Event().wait()
    raise AssertionError


async def _megabyte(*_: object) -> Result:
    return {"text": SECRET * 50_000}


@pytest.mark.parametrize("body", [_raise, _hang, _megabyte])
async def test_a_tool_that_misbehaves_is_an_error_for_the_model(
    tmp_path: Path,
    body: Callable[..., Awaitable[Result]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    bad = replace(TOOLS["opening_hours"], run=body, timeout_s=0.05)
    monkeypatch.setitem(TOOLS, "opening_hours", bad)
    with caplog.at_level(logging.INFO):
        async with conversation(tmp_path, HOURS, "I cannot look that up.") as caller:
            assert await answers(caller) == "I cannot look that up."
            model: Any = caller.model
            assert '"error"' in model.last_tool_result()
            assert await goes_on(caller)
    ours = [record for record in caplog.records if record.name.startswith("voice_agent")]
    assert any(record.levelno == logging.ERROR for record in ours)
    assert not any(SECRET in str(vars(record)) for record in ours)


async def test_a_slow_tool_is_bridged_by_a_few_words_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spoken: list[str] = []
    heard = asyncio.Event()

    async def slow(*_: object) -> Result:
        await heard.wait()
        return {"open": True}

    monkeypatch.setattr("voice_agent.tools.filler.FILLER_DELAY_S", 0.01)
    monkeypatch.setitem(TOOLS, "opening_hours", replace(TOOLS["opening_hours"], run=slow))
    async with conversation(tmp_path, [HOURS, HOURS], HOURS, "We are open.") as caller:
        say = caller.session.say

        def note(text: str, **options: Any) -> Any:
            spoken.append(text)
            heard.set()
            return say(text, **options)

        monkeypatch.setattr(caller.session, "say", note)
        assert await answers(caller) == "We are open."
        assert spoken == [caller.persona.filler]
        assert len(caller.tools_run) == 3


async def test_a_quick_tool_needs_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with conversation(tmp_path, HOURS, "We are open.") as caller:
        monkeypatch.setattr(
            caller.session, "say", lambda *_, **__: pytest.fail("nothing is to be said")
        )
        assert await answers(caller) == "We are open."
