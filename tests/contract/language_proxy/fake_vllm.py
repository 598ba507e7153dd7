"""A server that answers as vLLM does, or fails as the test says; and our proxy before it."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
import uvicorn
from aiohttp import web
from aiohttp.test_utils import TestServer

from language_server.settings import LanguageServerSettings
from language_server.vllm.admission import Places
from language_server.vllm.control_tokens import ControlTokens
from language_server.vllm.metrics import Metrics
from language_server.vllm.proxy import create_proxy
from language_server.vllm.replica import Replica
from language_server.vllm.supervisor import watch
from language_server.vllm.warmth import WarmPrefixes

CHAT = "/v1/chat/completions"
MODEL = "tiny"
CONTROL = ("<|im_start|>", "<|im_end|>")
DONE = "data: [DONE]\n\n"


class FakeVllm:
    """Answers with `words`, and then goes on or not."""

    def __init__(self) -> None:
        self.words: Sequence[str] = ("Good ", "day.")
        self.status = 200
        self.error: Any = {"error": {"message": "the context is too long", "code": 400}}
        self.healthy = True
        self.computed_tokens = 0
        self.break_off = False
        self.hold_before_headers: asyncio.Event | None = None
        self.hold_after_words: asyncio.Event | None = None
        self.requests: list[dict[str, Any]] = []
        self.cancelled = asyncio.Event()
        self.started = asyncio.Event()
        app = web.Application()
        app.router.add_get("/health", self._health)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_post(CHAT, self._chat)
        app.router.add_route("*", "/{path:.*}", self._anything)
        self.reached_paths: list[str] = []
        self.server = TestServer(app)

    async def _health(self, request: web.Request) -> web.Response:
        return web.Response(status=200 if self.healthy else 503)

    async def _metrics(self, request: web.Request) -> web.Response:
        lines = [
            f'vllm:prefix_cache_queries_total{{engine="0"}} {self.computed_tokens}',
            'vllm:cache_config_info{block_size="32",num_gpu_blocks="100"} 1.0',
            "python_info 1",
        ]
        return web.Response(text="\n".join(lines) + "\n")

    async def _anything(self, request: web.Request) -> web.Response:
        self.reached_paths.append(request.path)
        return web.json_response({})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.requests.append(asked)
        self.started.set()
        try:
            return await self._answer(request, asked)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    async def _answer(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        if self.hold_before_headers is not None:
            await self.hold_before_headers.wait()
        if self.status != 200:
            return web.json_response(self.error, status=self.status)
        if not asked.get("stream"):
            return web.json_response({"choices": [{"message": {"content": "".join(self.words)}}]})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for word in self.words:
            body = {"choices": [{"index": 0, "delta": {"content": word}}]}
            await response.write(f"data: {json.dumps(body)}\n\n".encode())
        if self.hold_after_words is not None:
            await self.hold_after_words.wait()
        if self.break_off:
            assert request.transport is not None
            request.transport.abort()
            return response
        await response.write(DONE.encode())
        return response


class Proxied:
    """The proxy and what is behind it."""

    def __init__(self, url: str, vllms: list[FakeVllm], replicas: list[Replica]) -> None:
        self.url = url
        self.vllms = vllms
        self.replicas = replicas

    @property
    def vllm(self) -> FakeVllm:
        """The only one."""
        (vllm,) = self.vllms
        return vllm


@asynccontextmanager
async def proxied(
    count: int = 1, places: int = 4, reserved: int = 1, **fields: Any
) -> AsyncIterator[Proxied]:
    """Our proxy before as many fakes; yields once all are ready.

    Args:
        count: of fakes.
        places: of each.
        reserved: of them for committed turns.
        fields: settings of the server, without `language_`.
    """
    settings = LanguageServerSettings(**{f"language_{name}": v for name, v in fields.items()})
    metrics, prefixes = Metrics(), WarmPrefixes(settings.language_warm_prefixes)
    async with AsyncExitStack() as running:
        vllms, replicas = [], []
        for number in range(count):
            vllm = FakeVllm()
            await vllm.server.start_server(shutdown_timeout=0.1)
            running.push_async_callback(vllm.server.close)
            url = str(vllm.server.make_url("")).rstrip("/")
            room = Places(places, reserved)
            replica = Replica(f"vllm-{number}", MODEL, room, prefixes, metrics, url=url)
            watching = asyncio.create_task(watch(replica))
            running.push_async_callback(_end, watching)
            vllms.append(vllm)
            replicas.append(replica)
        app = create_proxy(settings, MODEL, replicas, prefixes, metrics, ControlTokens(CONTROL))
        listener = running.enter_context(socket.create_server(("127.0.0.1", 0)))
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        await until(lambda: all(replica.ready for replica in replicas))
        for vllm in vllms:  # each was asked once to warm up
            vllm.requests.clear()
            vllm.started.clear()
        try:
            yield Proxied(f"http://127.0.0.1:{listener.getsockname()[1]}", vllms, replicas)
        finally:
            server.should_exit = True
            await serving


def client(server: Proxied, **headers: str) -> httpx.AsyncClient:
    """A client of our proxy."""
    return httpx.AsyncClient(base_url=server.url, timeout=20, headers=headers)


async def _end(task: "asyncio.Task[None]") -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def until(condition: Callable[[], bool]) -> None:
    """Give everybody else turns until it holds."""
    async with asyncio.timeout(30):
        while not condition():  # noqa: ASYNC110  (the servers under test set no event of ours)
            await asyncio.sleep(0)


def body(said: str = "Hello.", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "system", "content": "You answer."}, {"role": "user", "content": said}]
    return {"model": MODEL, "messages": messages, **fields}
