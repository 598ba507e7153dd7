"""Request bodies with a limit that holds while they arrive, and work that ends with its client."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from python_multipart.multipart import parse_options_header
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from speech_server.errors import BadRequest, DeadlineExceeded, PayloadTooLarge

T = TypeVar("T")

_MULTIPART_OVERHEAD_BYTES = 65_536
_MAX_DIGITS = 20
"""Of an announced length. Python refuses to read a number of thousands of digits."""
_MAX_FIELDS = 32
_MAX_FIELD_BYTES = 16_384


class LimitedBody:
    """The body of one request.

    Args:
        request: the request, its body not read yet.
        max_bytes: largest file.
        idle_timeout_s: longest wait for the next piece, seconds.
    """

    def __init__(self, request: Request, max_bytes: int, idle_timeout_s: float) -> None:
        self._request = request
        self._max_bytes = max_bytes
        self._idle_timeout_s = idle_timeout_s
        self._limit = max_bytes
        self._received = 0

    async def raw(self) -> bytes:
        """The whole body.

        Raises:
            PayloadTooLarge: it is larger than allowed.
            DeadlineExceeded: the client stalled.
        """
        self._check_announced()
        body = bytearray()
        async for piece in Request(self._request.scope, self._receive).stream():
            body += piece
        return bytes(body)

    async def form(self) -> FormData:
        """The body as a multipart form with at most one file; close it after use.

        Raises:
            BadRequest: it is no such form.
            PayloadTooLarge: it is larger than allowed.
            DeadlineExceeded: the client stalled.
        """
        self._limit = self._max_bytes + _MULTIPART_OVERHEAD_BYTES
        self._check_announced()
        kind, options = parse_options_header(self._request.headers.get("content-type", ""))
        if kind != b"multipart/form-data":
            raise BadRequest("the body must be multipart/form-data with a part named 'file'")
        if options.get(b"charset", b"utf-8").lower() != b"utf-8":
            # Some of Python's codecs make half characters, which no answer could repeat.
            raise BadRequest("the form must be UTF-8")
        try:
            return await Request(self._request.scope, self._receive).form(
                max_files=1, max_fields=_MAX_FIELDS, max_part_size=_MAX_FIELD_BYTES
            )
        except HTTPException as error:
            raise BadRequest(f"the form could not be read: {error.detail}") from None
        except MultiPartException as error:
            raise BadRequest(f"the form could not be read: {error.message}") from None

    def _check_announced(self) -> None:
        announced = self._request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:_MAX_DIGITS]) > self._limit:
            raise self._too_large()

    async def _receive(self) -> Message:
        try:
            async with asyncio.timeout(self._idle_timeout_s):
                message = await self._request.receive()
        except TimeoutError:
            raise DeadlineExceeded(
                f"the upload stalled for more than {self._idle_timeout_s:g} s"
            ) from None
        self._received += len(message.get("body", b""))
        if self._received > self._limit:
            raise self._too_large()
        return message

    def _too_large(self) -> PayloadTooLarge:
        return PayloadTooLarge(f"the file is larger than {self._max_bytes} bytes")


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Run work for a client, and stop it when the client goes away.

    Args:
        request: the request, its body read to the end.
        work: what to run.

    Raises:
        ClientDisconnect: the client went away.
    """
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_disconnected(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientDisconnect
        return task.result()
    finally:
        for each in (task, gone):
            each.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def _disconnected(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
