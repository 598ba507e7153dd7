"""A language model that says what a test tells it to, behind OpenAI's API; it keeps every request.

It runs in a thread of the test's own process: what a test changes in it is there at once.
"""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

MODEL = "scripted"
TOOL_RESULT = "\0"
"""Stands in a script for "a tool has answered"."""
ANYTHING = "\1"
"""Stands in a script for whatever else there is."""
START_S = 10.0
_POLL_S = 0.05


@dataclass(frozen=True)
class ToolCall:
    """An answer that is no speech."""

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)


Script = Mapping[str, str | ToolCall]
"""What the caller said last → the answer; or `TOOL_RESULT` → it, `ANYTHING` → it."""


class ScriptedModel:
    """The server, and what a test may do with it."""

    def __init__(self) -> None:
        self.script: Script = {}
        self.requests: list[dict[str, Any]] = []
        """Bodies of all requests, the oldest first."""
        self.url = ""
        """With `/v1`, as `PARLEY_LLM_URL` has it."""

    def asked(self) -> list[str]:
        """What each request ended with, the oldest first."""
        return [_text(body["messages"][-1]) for body in list(self.requests)]

    async def until_asked(self, words: str) -> str:
        """Wait for a request whose last message begins like this; return that message."""
        while not (  # noqa: ASYNC110
            found := [text for text in self.asked() if text.startswith(words)]
        ):
            await asyncio.sleep(_POLL_S)
        return found[-1]

    async def serve(self, started: threading.Event, stop: asyncio.Event) -> None:
        """Serve on a free loopback port until told to stop."""
        application = web.Application()
        application.router.add_get("/v1/models", self._models)
        application.router.add_post("/v1/chat/completions", self._complete)
        runner = web.AppRunner(application, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        started.set()
        await stop.wait()
        await runner.cleanup()

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        message, reason = self._answer(body["messages"][-1])
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return web.json_response(_envelope("chat.completion", choice))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        # who interrupts, or speculates in vain, leaves in the middle
        with suppress(ConnectionResetError):
            await response.prepare(request)
            for delta, end in ((message, None), ({}, reason)):
                choice = {"index": 0, "delta": delta, "finish_reason": end}
                chunk = json.dumps(_envelope("chat.completion.chunk", choice))
                await response.write(f"data: {chunk}\n\n".encode())
            await response.write(b"data: [DONE]\n\n")
        return response

    def _answer(self, last: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        key = TOOL_RESULT if last["role"] == "tool" else _text(last)
        answer = self.script.get(key, self.script.get(ANYTHING, "I heard you."))
        if isinstance(answer, str):
            return {"role": "assistant", "content": answer}, "stop"
        function = {"name": answer.name, "arguments": json.dumps(dict(answer.arguments))}
        call = {"index": 0, "id": f"call_{len(self.requests)}", "type": "function"}
        return {"role": "assistant", "tool_calls": [{**call, "function": function}]}, "tool_calls"


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content)


def _envelope(kind: str, choice: dict[str, Any]) -> dict[str, Any]:
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {
        "id": "chatcmpl-scripted",
        "object": kind,
        "created": 0,
        "model": MODEL,
        "choices": [choice],
        "usage": usage,
    }


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """A model that runs, and is stopped in the end."""
    model = ScriptedModel()
    started, stop = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        loop.run_until_complete(model.serve(started, stop))
        loop.close()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert started.wait(START_S), "the scripted model did not start"
    try:
        yield model
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
