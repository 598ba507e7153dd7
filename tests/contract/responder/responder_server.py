"""The responder on a free port, and requests to it."""

import asyncio
import datetime
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import uvicorn

from language_server.app import create_app
from language_server.settings import LanguageServerSettings
from tests.unit.language_server.front_desk import PROMPT, TODAY

MODEL = "parley-responder"
SYSTEM = [{"role": "system", "content": PROMPT}, {"role": "system", "content": TODAY}]


@asynccontextmanager
async def serving(**fields: Any) -> AsyncIterator[str]:
    """A server on a free port; yields its base URL."""
    app = create_app(LanguageServerSettings(**fields), lambda: datetime.datetime(2000, 1, 1))
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        await task
        listener.close()


def said(*texts: str) -> list[Any]:
    return [*SYSTEM, *({"role": "user", "content": text} for text in texts)]


def body(**fields: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": said("Hello."), **fields}


async def gauge(http: httpx.AsyncClient, line: str) -> float:
    text = (await http.get("/metrics")).text
    found = [entry for entry in text.splitlines() if entry.startswith(line)]
    return float(found[0].split()[-1]) if found else 0.0
