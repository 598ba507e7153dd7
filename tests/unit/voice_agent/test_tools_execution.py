"""How tools are run: bounded, once, by permission, and given up when the caller goes on."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import RunContext

from tests.unit.voice_agent.test_tools import FakeLine, FakeRun
from voice_agent.personas import load_persona
from voice_agent.scopes import Scope
from voice_agent.settings import AgentSettings
from voice_agent.tool_context import tool_context
from voice_agent.tools import execution
from voice_agent.tools.definition import Arguments, Result, Tool, ToolContext, ToolRefusal
from voice_agent.tools.execution import bind
from voice_agent.tools.run_record import MAX_CALLS_PER_TURN

SECRET = "Mary Johnson, born in 1984"


class _Anything(Arguments):
    word: str = ""


Body = Callable[[Any, ToolContext, RunContext], Awaitable[Result | None]]


def tool(body: Body, **fields: Any) -> Tool:
    defaults: dict[str, Any] = {"needs": frozenset({Scope.CALL_CONTROL})}
    return Tool("probe", "A tool for tests.", _Anything, body, **{**defaults, **fields})


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    settings = AgentSettings(database=tmp_path / "appointments.db")
    return tool_context(FakeLine(), settings, load_persona("front_desk"), datetime.now)


async def run(
    probe: Tool, context: ToolContext, run_context: Any = None, **arguments: object
) -> Any:
    bound: Any = bind(probe, context)
    answer = await bound(arguments, run_context or FakeRun())
    return None if answer is None else json.loads(answer)


async def _raise(*_: object) -> Result:
    raise RuntimeError(SECRET)


async def _hang(*_: object) -> Result:
    await asyncio.Event().wait()
    raise AssertionError


async def _megabyte(*_: object) -> Result:
    return {"text": "x" * 2**20}


async def _cycle(*_: object) -> Result:
    result: Result = {}
    result["itself"] = result
    return result


async def _bytes(*_: object) -> Result:
    return {"raw": b"\x00"}


async def _lone_surrogate(*_: object) -> Result:
    return {"text": "\ud800"}


@pytest.mark.parametrize("body", [_raise, _hang, _megabyte, _cycle, _bytes, _lone_surrogate])
@pytest.mark.parametrize("writes", [False, True])
async def test_whatever_a_tool_does_the_model_gets_a_short_error(
    context: ToolContext, body: Body, writes: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        answer = await run(tool(body, timeout_s=0.01, writes=writes), context)
    assert set(answer) == {"error"}
    assert len(answer["error"]) < 200
    assert SECRET not in json.dumps(answer)
    assert SECRET not in caplog.text
    assert any(record.levelno == logging.ERROR for record in caplog.records)


async def test_a_write_that_hangs_leaves_its_outcome_open(context: ToolContext) -> None:
    answer = await run(tool(_hang, timeout_s=0.01, writes=True), context)
    assert "not known whether" in answer["error"]


async def test_a_repeated_write_runs_once(context: ToolContext) -> None:
    runs = []

    async def write(arguments: _Anything, *_: object) -> Result:
        runs.append(arguments.word)
        return {"number": len(runs)}

    writer = tool(write, writes=True)
    assert await run(writer, context, word="a") == {"number": 1}
    assert await run(writer, context, word="a", made="up") == {"number": 1}
    assert await run(writer, context, word="b") == {"number": 2}
    # another write lies between: this is a new wish
    assert await run(writer, context, word="a") == {"number": 3}
    assert runs == ["a", "b", "a"]


async def test_equal_writes_at_once_run_once(context: ToolContext) -> None:
    runs = []
    started, release = asyncio.Event(), asyncio.Event()

    async def write(*_: object) -> Result:
        runs.append(1)
        started.set()
        await release.wait()
        return {"done": True}

    writer = tool(write, writes=True)
    both = [asyncio.create_task(run(writer, context)) for _ in range(2)]
    await started.wait()
    release.set()
    assert await asyncio.gather(*both) == [{"done": True}] * 2
    assert runs == [1]


async def test_a_write_that_was_refused_may_be_tried_again(context: ToolContext) -> None:
    answers: list[Result] = [{"error": "taken"}, {"done": True}]

    async def write(*_: object) -> Result:
        return answers.pop(0)

    async def refuse(*_: object) -> Result:
        raise ToolRefusal("no")

    assert await run(tool(refuse, writes=True), context) == {"error": "no"}
    writer = tool(write, writes=True)
    assert await run(writer, context) == {"error": "taken"}
    assert await run(writer, context) == {"done": True}


async def test_a_write_in_doubt_waits_for_a_look_up(context: ToolContext) -> None:
    runs = []

    async def write(*_: object) -> Result:
        runs.append(1)
        if len(runs) == 1:
            raise ConnectionError("the answer was lost")
        return {"done": True}

    async def read(*_: object) -> Result:
        return {"found": []}

    writer = tool(write, writes=True)
    for _ in range(3):
        assert await run(writer, context) == {"error": execution.UNCERTAIN}
    assert runs == [1]
    await run(tool(read), context)
    assert await run(writer, context) == {"done": True}
    assert runs == [1, 1]


async def test_look_ups_run_as_often_as_they_are_asked_for(context: ToolContext) -> None:
    runs = []

    async def read(*_: object) -> Result:
        runs.append(1)
        return {}

    await asyncio.gather(*(run(tool(read), context) for _ in range(3)))
    assert len(runs) == 3


async def test_look_ups_run_side_by_side(context: ToolContext) -> None:
    arrived = asyncio.Barrier(3)

    async def read(*_: object) -> Result:
        await arrived.wait()
        return {"ok": True}

    answers = await asyncio.gather(*(run(tool(read), context) for _ in range(3)))
    assert answers == [{"ok": True}] * 3


async def test_a_look_up_is_dropped_when_the_caller_interrupts(context: ToolContext) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def read(*_: object) -> Result:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    speaking = FakeRun()
    answer = asyncio.create_task(run(tool(read), context, speaking))
    await started.wait()
    speaking.speech_handle.interrupt()
    assert await answer == {"error": execution.INTERRUPTED}
    assert cancelled.is_set()
    speaking.speech_handle._mark_done()


async def test_a_write_is_finished_although_the_caller_interrupts(context: ToolContext) -> None:
    started, release = asyncio.Event(), asyncio.Event()

    async def write(*_: object) -> Result:
        started.set()
        await release.wait()
        return {"done": True}

    speaking = FakeRun()
    answer = asyncio.create_task(run(tool(write, writes=True), context, speaking))
    await started.wait()
    speaking.speech_handle.interrupt()
    release.set()
    assert await answer == {"done": True}
    speaking.speech_handle._mark_done()


async def test_cancelling_a_write_wakes_the_repetition_that_waits_for_it(
    context: ToolContext,
) -> None:
    started = asyncio.Event()

    async def write(*_: object) -> Result:
        started.set()
        await asyncio.Event().wait()
        raise AssertionError

    writer = tool(write, writes=True)
    first = asyncio.create_task(run(writer, context))
    await started.wait()
    second = asyncio.create_task(run(writer, context))
    await asyncio.sleep(0)
    first.cancel()
    for waiting in (first, second):
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(waiting, 5)


async def test_a_tool_without_its_scope_is_refused_and_not_run(context: ToolContext) -> None:
    needy = tool(_raise, needs=frozenset({Scope.ACCOUNTS_READ}))
    assert await run(needy, context) == {"error": execution.NOT_ALLOWED}
    earned = tool(_raise, needs=frozenset({Scope.CALL_CONTROL, Scope.CALLER_VERIFIED}))
    assert await run(earned, context) == {"error": execution.NOT_VERIFIED}
    context.grants.earn(Scope.CALLER_VERIFIED)
    assert await run(earned, context) == {"error": execution.UNREACHABLE}


async def test_a_turn_has_a_bounded_number_of_calls(context: ToolContext) -> None:
    runs = []

    async def read(*_: object) -> Result:
        runs.append(1)
        return {}

    turn = FakeRun()
    answers = [await run(tool(read), context, turn) for _ in range(100)]
    assert len(runs) == MAX_CALLS_PER_TURN
    assert answers[-1] == {"error": execution.TOO_MANY}
    assert await run(tool(read), context) == {}


async def test_another_agents_tools_share_the_record_of_the_call(context: ToolContext) -> None:
    runs = []

    async def write(*_: object) -> Result:
        runs.append(1)
        return {"done": True}

    writer = tool(write, writes=True)
    await run(writer, context)
    colleague = replace(context, grants=context.grants.of_another_agent([Scope.CALL_CONTROL]))
    assert await run(writer, colleague) == {"done": True}
    assert runs == [1]
