"""Recognition of one whole buffer by the STT plugin."""

import io
import json
import wave

import pytest
from livekit.agents import APIError, APIStatusError

from speech_plugins import STT
from tests.unit.speech_plugins.attempts import ONCE
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer
from tests.unit.speech_plugins.listening import Kind, frame


def told(code: str, message: str) -> str:
    """The body of an error answer."""
    return json.dumps({"error": {"message": message, "type": "any", "code": code}})


async def test_recognize_uploads_a_wav(stt: STT, server: FakeSpeechServer) -> None:
    event = await stt.recognize(frame(7, samples=1600), conn_options=ONCE)
    assert event.type is Kind.FINAL_TRANSCRIPT
    assert event.alternatives[0].text == "hello"
    form = server.forms[0]
    with wave.open(io.BytesIO(form["file"])) as wav:
        assert (wav.getframerate(), wav.getnframes()) == (16_000, 1600)
    assert form["language"] == "en"


@pytest.mark.parametrize(
    ("status", "body", "retryable", "text"),
    [
        (413, told("payload_too_large", "too long"), False, "too long"),
        (429, told("overloaded", "full"), True, "full"),
        (500, told("engine_failed", "it broke"), False, "it broke"),
        (502, "<html>bad gateway</html>", True, "502"),
        (404, '{"detail": "Not Found"}', False, "404"),
    ],
)
async def test_recognize_refused(
    stt: STT, server: FakeSpeechServer, status: int, body: str, retryable: bool, text: str
) -> None:
    server.transcription = (status, body)
    with pytest.raises(APIStatusError, match=text) as caught:
        await stt.recognize(frame(7), conn_options=ONCE)
    assert caught.value.status_code == status
    assert caught.value.retryable is retryable


async def test_recognize_answered_with_nonsense(stt: STT, server: FakeSpeechServer) -> None:
    server.transcription = (200, "hello")
    with pytest.raises(APIError, match="malformed"):
        await stt.recognize(frame(7), conn_options=ONCE)
