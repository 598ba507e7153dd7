"""A model server that answers with what the test put there."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer

DONE = "data: [DONE]"


class FakeModelServer:
    """Answers `/v1/chat/completions` with what the test put there."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.body: list[str] = []
        self.status = 200
        self.comment_forever = False
        self.pause_s = 0.0
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        self.server = TestServer(app)
        self.models_listed = 0

    @property
    def url(self) -> str:
        return str(self.server.make_url("/v1"))

    async def _models(self, request: web.Request) -> web.Response:
        self.models_listed += 1
        return web.json_response({"object": "list", "data": []})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.requests.append(asked)
        self.headers.append(request.headers)
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        if not asked.get("stream"):
            return web.json_response(chunk({}, finish="length") | {"object": "chat.completion"})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for line in self.body:
            await response.write(line.encode() + b"\n\n")
            await asyncio.sleep(self.pause_s)
        while self.comment_forever:
            try:
                await response.write(b": still here\n\n")
            except ConnectionError:
                break
            await asyncio.sleep(0.02)
        return response


def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "message": delta, "finish_reason": finish}
    return {
        "id": "answer-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [choice],
    }


def said(delta: dict[str, Any], finish: str | None = None) -> str:
    return "data: " + json.dumps(chunk(delta, finish))
