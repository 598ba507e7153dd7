"""One copy of the model as the proxy sees it: where it listens, whether it is ready, its places."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from language_server.vllm.admission import Places
from language_server.vllm.counters import Counters
from language_server.vllm.metrics import Metrics
from language_server.vllm.warmth import WarmPrefixes

logger = logging.getLogger(__name__)

POLL_S: Final = 1.0
"""Time between two looks at a copy's health and counters."""
_POLL_TIMEOUT_S: Final = 5.0
_MISSED_POLLS: Final = 3
"""In a row, after which a copy that lives counts as hung."""
_TOUCH_TIMEOUT_S: Final = 60.0
_CONNECT_S: Final = 2.0


class Replica:
    """A vLLM that listens on a socket of ours, or at a URL.

    Args:
        name: unique among the copies.
        model: the name that it knows the model by.
        places: requests that it may answer at once.
        prefixes: what it is to keep cached.
        metrics: counts readiness and touches.
        socket: Unix socket that it listens on; None: it is at `url`.
        url: base URL without a path.
    """

    def __init__(
        self,
        name: str,
        model: str,
        places: Places,
        prefixes: WarmPrefixes,
        metrics: Metrics,
        *,
        socket: Path | None = None,
        url: str = "http://vllm",
    ) -> None:
        self.name = name
        self.places = places
        self.ready = False
        self.state = "loading"
        """For people: why it is not ready."""
        self.computed_tokens = 0.0
        """At the last look."""
        self._model = model
        self._prefixes = prefixes
        self._metrics = metrics
        self._socket = socket
        self._url = url
        self._session: aiohttp.ClientSession | None = None
        self._touching: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[None]:
        """Open the connections for as long as the block runs."""
        connector: aiohttp.BaseConnector = (
            aiohttp.UnixConnector(path=str(self._socket), limit=0)
            if self._socket is not None
            else aiohttp.TCPConnector(limit=0)
        )
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S)
        async with aiohttp.ClientSession(
            self._url, connector=connector, timeout=timeout, trust_env=False
        ) as self._session:
            try:
                yield
            finally:
                for task in self._touching:
                    task.cancel()
                await asyncio.gather(*self._touching, return_exceptions=True)

    def post(self, body: Mapping[str, Any]) -> Any:
        """Ask for an answer: aiohttp's context manager of the response."""
        return self._open.post("/v1/chat/completions", json=body)

    async def page(self) -> str:
        """Its own metrics page; empty where it does not answer."""
        try:
            async with asyncio.timeout(_POLL_TIMEOUT_S):
                async with self._open.get("/metrics") as answer:
                    return await answer.text() if answer.status == 200 else ""
        except (TimeoutError, aiohttp.ClientError, OSError):
            return ""

    def down(self, why: str) -> None:
        """No request may come until further notice; what was cached is gone."""
        self.ready, self.state = False, why
        self._metrics.ready.labels(self.name).set(0)
        self._prefixes.forget(self.name)
        self.computed_tokens = 0.0

    async def loaded(self) -> None:
        """Wait until it has loaded the model and has answered once, then let requests in."""
        while not await self._is_healthy():  # noqa: ASYNC110  (nobody tells)
            await asyncio.sleep(POLL_S)
        # The first answer waits for what vLLM makes when it is first needed.
        messages = [{"role": "user", "content": "Hello."}]
        await self._touch(
            {"model": self._model, "messages": messages, "max_completion_tokens": 1}, count=False
        )
        await self._look()
        self.ready, self.state = True, "ready"
        self._metrics.ready.labels(self.name).set(1)
        logger.info("language model ready", extra={"replica": self.name})

    async def hung(self) -> None:
        """Watch it, keep its prefixes warm, and return once it no longer answers."""
        missed = 0
        while missed < _MISSED_POLLS:
            await asyncio.sleep(POLL_S)
            if await self._is_healthy():
                missed = 0
                await self._look()
            else:
                missed += 1

    async def _is_healthy(self) -> bool:
        try:
            async with asyncio.timeout(_POLL_TIMEOUT_S):
                async with self._open.get("/health") as answer:
                    return answer.status == 200
        except (TimeoutError, aiohttp.ClientError, OSError):
            return False

    async def _look(self) -> None:
        counters = Counters(await self.page())
        self.computed_tokens = counters.computed_tokens
        self._metrics.computed.labels(self.name).set(self.computed_tokens)
        due = self._prefixes.due(self.name, self.computed_tokens, counters.cache_tokens)
        for body in due:
            task = asyncio.create_task(self._touch(body, count=True))
            self._touching.add(task)
            task.add_done_callback(self._touching.discard)

    async def _touch(self, body: Mapping[str, Any], *, count: bool) -> None:
        try:
            async with asyncio.timeout(_TOUCH_TIMEOUT_S), self.post(body) as answer:
                usage = (await answer.json()).get("usage") or {}
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            logger.warning("prefix not touched", extra={"replica": self.name, "why": str(error)})
            return
        if count:
            cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
            hit = 2 * cached >= usage.get("prompt_tokens", 1)
            self._metrics.touches.labels("hit" if hit else "miss").inc()

    @property
    def _open(self) -> aiohttp.ClientSession:
        assert self._session is not None, "not connected"
        return self._session
