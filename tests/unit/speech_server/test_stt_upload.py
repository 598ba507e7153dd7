import asyncio
from collections.abc import Iterable

import pytest
from starlette.datastructures import UploadFile
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message

from speech_server.errors import BadRequest, DeadlineExceeded, PayloadTooLarge
from speech_server.stt.upload import LimitedBody, while_connected

FORM = (
    b'--x\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\nABC\r\n'
    b'--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nany\r\n--x--\r\n'
)


def request(pieces: Iterable[bytes], **headers: str) -> Request:
    queue = iter(pieces)

    async def receive() -> Message:
        piece = next(queue, None)
        if piece is None:
            return await asyncio.Event().wait()  # type: ignore[return-value]
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": fields}, receive)


def limited(asked: Request, max_bytes: int = 10, idle_timeout_s: float = 5.0) -> LimitedBody:
    return LimitedBody(asked, max_bytes, idle_timeout_s)


async def test_a_raw_body() -> None:
    assert await limited(request([b"12345", b"67890", b""])).raw() == b"1234567890"


async def test_too_much_is_refused_while_it_arrives() -> None:
    def endless() -> Iterable[bytes]:
        while True:
            yield b"12345"

    with pytest.raises(PayloadTooLarge):
        await limited(request(endless())).raw()


async def test_too_much_is_refused_before_it_arrives() -> None:
    with pytest.raises(PayloadTooLarge):
        await limited(request([], content_length="11")).raw()


async def test_a_stalled_upload_is_ended() -> None:
    with pytest.raises(DeadlineExceeded):
        await limited(request([b"1"]), idle_timeout_s=0.01).raw()


async def test_a_form() -> None:
    asked = request([FORM, b""], content_type="multipart/form-data; boundary=x")
    form = await limited(asked).form()
    file = form["file"]
    assert isinstance(file, UploadFile)
    assert await file.read() == b"ABC"
    assert form["model"] == "any"
    await form.close()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (FORM, "application/json"),
        (FORM, "multipart/form-data"),
        (b"no form at all", "multipart/form-data; boundary=x"),
        (FORM + FORM.replace(b"--x--", b""), "text/plain"),
    ],
)
async def test_what_is_no_form_is_refused(body: bytes, kind: str) -> None:
    with pytest.raises(BadRequest):
        await limited(request([body, b""], content_type=kind)).form()


async def test_two_files_are_refused() -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nA\r\n'
    asked = request([part * 2 + b"--x--\r\n", b""], content_type="multipart/form-data; boundary=x")
    with pytest.raises(BadRequest):
        await limited(asked).form()


async def test_work_is_done_for_a_client_that_stays() -> None:
    async def work() -> int:
        return 7

    assert await while_connected(request([]), work()) == 7


async def test_work_ends_when_the_client_goes() -> None:
    stopped = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    asked = Request({"type": "http", "headers": []}, gone)
    with pytest.raises(ClientDisconnect):
        await while_connected(asked, work())
    assert stopped.is_set()
