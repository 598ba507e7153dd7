"""Model servers that misbehave on the wire, through our own plugin: at worst an apology."""

import json
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from livekit.agents import APIError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.contract.text_call import TextCaller, scripted_model, serving
from voice_agent.personas import load_persona

BACK = "I am here again."


def event(**delta: Any) -> bytes:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": None}
    body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "x"}
    return b"data: " + json.dumps({**body, "choices": [choice]}).encode() + b"\n\n"


def call(name: str | None, arguments: str) -> bytes:
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return event(tool_calls=[{"index": 0, "id": "c1", "type": "function", "function": function}])


DONE = b"data: [DONE]\n\n"
WRONG = {
    "nothing at all": b"",
    "no choice": DONE,
    "words that are none": event(content="\ufffd\u0000") + DONE,
    "no JSON": b"data: {not json\n\n" + DONE,
    "no events": b"\x00\xff\xfe" * 100 + b"\n\n",
    "half a tool call": call("book_appointment", '{"name": "Peter Mil'),
    "arguments of no tool": call(None, '{"day": "2026'),
    "a page": b"<html>502 Bad Gateway</html>",
}


def server(wrong: bytes, status: int = 200) -> Starlette:
    """Answers rightly only those who ask whether it is there."""

    async def complete(request: Request) -> Response:
        body = await request.json()
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"]
        if "Are you there?" in str(asked[-1]):
            return StreamingResponse(_pieces(event(content=BACK) + DONE), media_type=_SSE)
        return StreamingResponse(_pieces(wrong), status_code=status, media_type=_SSE)

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


_SSE = "text/event-stream"


async def _pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("status", [200, 500])
async def test_the_caller_hears_an_apology_and_the_call_goes_on(
    wrong: bytes, status: int, tmp_path: Path
) -> None:
    persona = load_persona("front_desk")
    async with serving(server(wrong, status)) as address:
        model = scripted_model(f"{address}/v1", persona)
        async with TextCaller(model, persona, tmp_path / "app.db", datetime.now) as caller:
            with suppress(APIError):
                await caller.say("Hello?")
            assert caller.said()[1:] == [persona.apology]
            assert await caller.say("Are you there?") == BACK
            assert caller.tools_run == []
