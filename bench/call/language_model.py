"""The bench's language model: a script behind OpenAI's API, as a process of its own.

    python -m bench.call.language_model --port 8000 --ttft 0.04 --token-interval 0.005

Without a pace it answers at once, which leaves nothing that a pipeline could hide by overlapping:
the comparison is then harder on whoever overlaps.
"""

import argparse
import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any, Final

from aiohttp import web

from bench.call.answers import reply_to

MODEL: Final = "bench-script"
_TOKEN: Final = re.compile(r"\s*\S{1,6}")
"""About the length of a model's token."""


class LanguageModel:
    """The routes.

    Args:
        ttft_s: wait before the first token, seconds.
        interval_s: wait before each further one, seconds.
    """

    def __init__(self, ttft_s: float, interval_s: float) -> None:
        self._ttft_s = ttft_s
        self._interval_s = interval_s

    def application(self) -> web.Application:
        """The application."""
        application = web.Application()
        application.router.add_get("/v1/models", self._models)
        application.router.add_post("/v1/chat/completions", self._complete)
        return application

    async def _models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        asked_s = time.monotonic()
        body = await request.json()
        tokens = _TOKEN.findall(reply_to(body["messages"]))[: body.get("max_tokens")]
        usage = {
            "prompt_tokens": len(json.dumps(body["messages"])) // 4,
            "completion_tokens": len(tokens),
        }
        usage["total_tokens"] = sum(usage.values())
        if not body.get("stream"):
            async for _ in self._paced(tokens, asked_s):
                pass
            message = {"role": "assistant", "content": "".join(tokens)}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return web.json_response(_envelope("chat.completion", [choice], usage))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        # a caller who interrupts, or speculation that lost, leaves in the middle
        with suppress(ConnectionResetError):
            await response.prepare(request)
            async for token in self._paced(tokens, asked_s):
                await _send(response, _delta({"content": token}))
            await _send(response, _delta({}, "stop"))
            if (body.get("stream_options") or {}).get("include_usage"):
                await _send(response, _envelope("chat.completion.chunk", [], usage))
            await response.write(b"data: [DONE]\n\n")
        return response

    async def _paced(self, tokens: list[str], asked_s: float) -> AsyncIterator[str]:
        for index, token in enumerate(tokens):
            due_s = asked_s + self._ttft_s + index * self._interval_s
            # also without a pace the loop gets its turn, so that one answer does not hold others
            await asyncio.sleep(max(0.0, due_s - time.monotonic()))
            yield token


def _delta(delta: dict[str, str], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": reason}
    return _envelope("chat.completion.chunk", [choice], None)


def _envelope(kind: str, choices: list[Any], usage: dict[str, int] | None) -> dict[str, Any]:
    return {
        "id": "chatcmpl-bench",
        "object": kind,
        "created": int(time.time()),
        "model": MODEL,
        "choices": choices,
        "usage": usage,
    }


async def _send(response: web.StreamResponse, body: dict[str, Any]) -> None:
    await response.write(f"data: {json.dumps(body)}\n\n".encode())


def main() -> None:
    """Serve on loopback until told to end."""
    parser = argparse.ArgumentParser(description="A scripted language model for the bench")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ttft", type=float, default=0.0, metavar="SECONDS")
    parser.add_argument("--token-interval", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    model = LanguageModel(options.ttft, options.token_interval)
    web.run_app(model.application(), host="127.0.0.1", port=options.port, print=None)


if __name__ == "__main__":
    main()
