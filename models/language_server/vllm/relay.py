"""One request on its way through: asked of vLLM, its answer passed on as it comes.

A client that leaves closes the connection to vLLM at once, which ends the request there: nothing is
generated for nobody.
"""

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack
from typing import Any, Final, Literal, TypeVar

import aiohttp
from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from language_server.errors import (
    BadRequest,
    DeadlineExceeded,
    ModelFailed,
    Overloaded,
    RequestError,
    Unavailable,
)
from language_server.vllm.admission import Class
from language_server.vllm.metrics import Metrics
from language_server.vllm.replica import Replica

logger = logging.getLogger(__name__)

Outcome = Literal["completed", "cancelled", "failed", "timed_out"]

CLIENT_GONE: Final = 499
"""Status for a client that no longer reads it."""
_DONE: Final = b"data: [DONE]"
_TAIL_BYTES: Final = 64
_MAX_ERROR_BYTES: Final = 65_536
_MAX_MESSAGE_CHARS: Final = 500

_Result = TypeVar("_Result")


class ClientGone(Exception):
    """The client left before its answer began."""


class Relay:
    """Answers one request that was let in, and gives its place back whatever happens.

    Args:
        request: the client's.
        replica: the copy of the model that answers; it has a place.
        kind: class of the request.
        timeout_s: longest time for the whole answer, seconds.
        metrics: counts outcomes.
    """

    def __init__(
        self, request: Request, replica: Replica, kind: Class, timeout_s: float, metrics: Metrics
    ) -> None:
        self._request = request
        self._replica = replica
        self._kind = kind
        self._metrics = metrics
        self._began_s = asyncio.get_running_loop().time()
        self._ends_at_s = self._began_s + timeout_s
        self._timeout_s = timeout_s
        self._open = AsyncExitStack()
        self._outcome: Outcome = "cancelled"

    async def answer(self, body: dict[str, Any], headers: dict[str, str]) -> Response:
        """Ask vLLM.

        Args:
            body: what it is asked.
            headers: of the answer.

        Raises:
            RequestError: vLLM refused or failed before the answer began.
        """
        self._open.enter_context(self._replica.places.place(self._kind))
        try:
            async with asyncio.timeout_at(self._ends_at_s):
                return await self._ask(body, headers)
        except ClientGone:
            await self.close()
            return Response(status_code=CLIENT_GONE)
        except TimeoutError:
            self._outcome = "timed_out"
            await self.close()
            raise self._too_late() from None
        except (aiohttp.ClientError, OSError) as error:
            self._outcome = "failed"
            await self.close()
            raise Unavailable("the model went away before it answered; try again") from error
        except BaseException as error:
            self._outcome = "failed" if isinstance(error, Exception) else "cancelled"
            await self.close()
            raise

    async def close(self) -> None:
        """Leave vLLM, give the place back and count."""
        await self._open.aclose()
        self._metrics.requests.labels(self._kind, self._outcome).inc()

    async def _ask(self, body: dict[str, Any], headers: dict[str, str]) -> Response:
        upstream = await self._while_wanted(
            self._open.enter_async_context(self._replica.post(body))
        )
        # Not given back to the pool half-read: closing is what tells vLLM to stop.
        self._open.callback(upstream.close)
        if upstream.status != 200:
            raise _error_of(upstream.status, await upstream.content.read(_MAX_ERROR_BYTES))
        if body.get("stream"):
            return _Stream(self, self._pieces(upstream), headers)
        content = await self._while_wanted(upstream.read())
        self._first_byte()
        self._outcome = "completed"
        await self.close()
        return Response(content, media_type="application/json", headers=headers)

    async def _pieces(self, upstream: aiohttp.ClientResponse) -> AsyncIterator[bytes]:
        tail = b""
        try:
            async with asyncio.timeout_at(self._ends_at_s):
                async for piece in upstream.content.iter_any():
                    if not tail:
                        self._first_byte()
                    tail = (tail + piece)[-_TAIL_BYTES:]
                    yield piece
            if _DONE in tail:
                self._outcome = "completed"
                return
            failure: RequestError = ModelFailed("the model's answer broke off")
        except TimeoutError:
            failure = self._too_late()
        except (aiohttp.ClientError, OSError):
            failure = ModelFailed("the model went away while it answered")
        self._outcome = "timed_out" if isinstance(failure, DeadlineExceeded) else "failed"
        self._metrics.errors.labels(failure.code).inc()
        yield f"data: {json.dumps(failure.body())}\n\n".encode()

    async def _while_wanted(self, work: Awaitable[_Result]) -> _Result:
        """Do it as long as the client is there.

        Raises:
            ClientGone: it left.
        """
        task = asyncio.ensure_future(work)
        gone = asyncio.create_task(self._gone())
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                raise ClientGone
            return task.result()
        finally:
            for one in (task, gone):
                one.cancel()
            await asyncio.gather(task, gone, return_exceptions=True)

    async def _gone(self) -> None:
        while (await self._request.receive())["type"] != "http.disconnect":
            pass

    def _first_byte(self) -> None:
        waited_s = asyncio.get_running_loop().time() - self._began_s
        self._metrics.ttft.labels(self._kind).observe(waited_s)

    def _too_late(self) -> DeadlineExceeded:
        return DeadlineExceeded(f"no whole answer within {self._timeout_s:g} s")


class _Stream(StreamingResponse):
    """Server-sent events; closes its relay also where it is never iterated."""

    def __init__(self, relay: Relay, pieces: AsyncIterator[bytes], headers: dict[str, str]) -> None:
        super().__init__(pieces, media_type="text/event-stream", headers=headers)
        self._relay = relay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await asyncio.shield(self._relay.close())


def _error_of(status: int, content: bytes) -> RequestError:
    """Ours for one of vLLM's: its words where the request is at fault, and none of its inside."""
    try:
        told = json.loads(content)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        told = ""
    message = " ".join(str(told).split())[:_MAX_MESSAGE_CHARS]
    if status == 429:
        return Overloaded("the model has no room for this request; try again")
    if status == 503:
        return Unavailable("the model cannot answer now; try again")
    if 400 <= status < 500:
        return BadRequest(message or "the model's server refused the request")
    logger.error("vLLM failed on a request", extra={"status": status})
    return ModelFailed("the model failed on this request")
