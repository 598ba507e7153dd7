"""Whatever is uploaded becomes audio or a clear error, within its limits."""

import asyncio
import io
import struct
import wave

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.types import Message

from speech_server.audio.decode import AudioDecoder
from speech_server.errors import BadRequest, PayloadTooLarge
from speech_server.stt.engine import SttEngineInfo
from speech_server.stt.transcriptions_wire import TranscriptionRequest, _read_form
from speech_server.stt.upload import LimitedBody
from tests.unit.speech_server.clear_errors import check_clear

INFO = SttEngineInfo("any", "any-1", languages=("en",))
FIELDS = (
    b"file", b"file[]", b"model", b"language", b"prompt", b"response_format", b"stream",
    b"timestamp_granularities", b"timestamp_granularities[]", b"temperature", b"nonsense",
    b"\\ud800", b"+2AA-", b"\xff\xfe", b"xn--a",
)  # fmt: skip
CONTENTS = (
    b"", b"en", b"de", b"json", b"srt", b"verbose_json", b"true", b"word", b"segment", b"\xff\xfe",
    b"\\ud800", b"+2AA-", b"x" * 5_000, b"x" * 20_000, b"RIFF", b"xn--a", b"\x00",
)  # fmt: skip
PART = st.builds(
    lambda name, content, file: (
        b'Content-Disposition: form-data; name="' + name + b'"' + file + b"\r\n\r\n" + content
    ),
    st.sampled_from(FIELDS) | st.binary(max_size=6),
    st.sampled_from(CONTENTS) | st.binary(max_size=30),
    st.sampled_from((b"", b'; filename="a.wav"', b"; filename*=utf-8''a%00b", b"; filename=")),
) | st.binary(max_size=60)
FILE = b'Content-Disposition: form-data; name="file"; filename="a"\r\n\r\nRIFF'
CHARSETS = (
    "", "; charset=utf-8", "; charset=utf-7", "; charset=unicode_escape", "; charset=utf-16",
    "; charset=idna", "; charset=punycode", "; charset=zlib", "; charset=\x00", "; charset=latin-1",
    "; charset*=utf-8''idna",
)  # fmt: skip


def body(parts: list[bytes], end: bytes) -> bytes:
    return b"".join(b"--x\r\n" + part + b"\r\n" for part in parts) + end


async def read(data: bytes, content_type: str, **headers: str) -> TranscriptionRequest:
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Event().wait()
        sent = True
        return {"type": "http.request", "body": data, "more_body": False}

    fields = {"content-type": content_type} | headers
    raw = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": raw}
    form = await LimitedBody(Request(scope, receive), 40_000, 5.0).form()
    try:
        return await _read_form(form, INFO)
    finally:
        await form.close()


# Starlette leaves the file of a form that breaks off to the garbage collector.
@pytest.mark.filterwarnings("ignore:Unclosed file:ResourceWarning")
@settings(max_examples=300, deadline=None)
@example(
    [b'Content-Disposition: form-data; name="\\ud800"\r\n\r\n'], b"--x--\r\n", CHARSETS[3], "x"
)
@example(
    [b'Content-Disposition: form-data; name="model"\r\n\r\n..'], b"--x--\r\n", CHARSETS[5], "x"
)
@example([FILE], b"--x--\r\n", "", "x" * 300)
@given(
    st.lists(PART, max_size=5).map(lambda parts: [*parts, FILE]),
    st.sampled_from((b"--x--\r\n", b"", b"--x--", b"--y--")),
    st.sampled_from(CHARSETS),
    st.sampled_from(("x", '"x"', "", "y")),
)
async def test_any_form(parts: list[bytes], end: bytes, charset: str, boundary: str) -> None:
    try:
        asked = await read(body(parts, end), f"multipart/form-data; boundary={boundary}{charset}")
    except (BadRequest, PayloadTooLarge) as error:
        check_clear(error)
        return
    assert asked.language in (None, "en")
    assert asked.prompt is None or len(asked.prompt) <= 4_096
    assert asked.granularities <= {"segment"}
    assert len(asked.data) <= 40_000


@given(st.text(alphabet=st.characters(max_codepoint=255), max_size=20) | st.just("9" * 5_000))
async def test_any_announced_length(length: str) -> None:
    whole = body([FILE], b"--x--\r\n")
    headers = {"content-length": length}
    try:
        asked = await read(whole, "multipart/form-data; boundary=x", **headers)
    except PayloadTooLarge:
        return
    assert asked.data == b"RIFF"


# --- audio files: a child process each, so few examples -----------------------------------------

MAX_S = 2.0


def wav(tag: int, channels: int, rate: int, bits: int, size: int, data: bytes) -> bytes:
    """A WAV file whose header says what it likes."""
    frame = channels * bits // 8
    head = struct.pack(
        "<4sI4s4sIHHIIHH4sI", b"RIFF", size, b"WAVE", b"fmt ", 16, tag, channels, rate,
        (rate * frame) & 0xFFFFFFFF, frame & 0xFFFF, bits, b"data", size,
    )  # fmt: skip
    return head + data


WAVS = st.builds(
    wav,
    tag=st.sampled_from((1, 3, 6, 7, 0xFFFE, 0x55)) | st.integers(0, 0xFFFF),
    channels=st.sampled_from((0, 1, 2, 6, 255, 0xFFFF)),
    rate=st.sampled_from((0, 1, 8_000, 16_000, 192_000, 0xFFFFFFFF)),
    bits=st.sampled_from((0, 8, 16, 24, 32, 64, 0xFFFF)),
    size=st.sampled_from((0, 100, 0x7FFFFFFF, 0xFFFFFFFF)),
    data=st.binary(max_size=400)
    | st.integers(0, 99).map(lambda seed: np.random.default_rng(seed).bytes(9_000)),
)  # fmt: skip
MAGIC = st.builds(
    lambda magic, rest: magic + rest,
    st.sampled_from((b"fLaC", b"OggS", b"ID3\x04", b"\xff\xfb\x90", b"\x1aE\xdf\xa3", b"FORM",
                     b"\x00\x00\x00\x18ftypM4A ", b"caff", b"#!AMR\n", b"\x1f\x8b\x08", b"")),
    st.binary(max_size=600),
)  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example(wav(3, 1, 16_000, 32, 4 * 800, np.full(800, np.nan, "<f4").tobytes()))
@example(wav(3, 1, 16_000, 32, 4 * 800, np.full(800, np.inf, "<f4").tobytes()))
@example(wav(3, 1, 16_000, 32, 4 * 800, np.full(800, 1e30, "<f4").tobytes()))
@given(WAVS | MAGIC)
async def test_any_file(data: bytes) -> None:
    try:
        pcm = await AudioDecoder(MAX_S, timeout_s=20.0).decode(data)
    except (BadRequest, PayloadTooLarge) as error:
        check_clear(error)
        return
    assert pcm.dtype == np.float32
    assert 0 < len(pcm) <= MAX_S * 16_000
    assert np.isfinite(pcm).all()
    assert np.abs(pcm).max() <= 1.0


@pytest.mark.parametrize("cut", [0.0, 0.3, 0.9])
async def test_a_file_that_is_broken_in_the_middle(cut: float) -> None:
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(1)
        output.setsampwidth(2)
        output.setframerate(16_000)
        output.writeframes(bytes(32_000))
    whole = file.getvalue()
    at = round(len(whole) * cut)
    broken = whole[:at] + b"\xff" * 64 + whole[at + 64 :]
    try:
        pcm = await AudioDecoder(MAX_S, timeout_s=20.0).decode(broken)
    except BadRequest:
        assert cut == 0.0
        return
    assert len(pcm) == 16_000
