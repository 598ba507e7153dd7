"""`POST /tts/bytes`: a whole text in one answer."""

import httpx
import numpy as np
import pytest

from tests.contract.speak.speak_client import TEXT
from tests.heard import share_heard


@pytest.mark.parametrize(
    ("output_format", "content_type"),
    [
        ({"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24_000}, "audio/pcm"),
        ({"container": "raw", "encoding": "pcm_mulaw", "sample_rate": 8_000}, "audio/PCMU"),
        ({"container": "wav", "encoding": "pcm_f32le", "sample_rate": 44_100}, "audio/wav"),
        ({"container": "mp3", "sample_rate": 44_100, "bit_rate": 64_000}, "audio/mpeg"),
    ],
)
async def test_bytes(
    http: httpx.AsyncClient, output_format: dict[str, object], content_type: str
) -> None:
    message = {
        "model_id": "sonic-3",
        "transcript": TEXT,
        "voice": {"mode": "id", "id": "slt"},
        "output_format": output_format,
        "language": "en",
    }
    headers = {"X-API-Key": "key", "Cartesia-Version": "2025-04-16"}
    answer = await http.post("/tts/bytes", json=message, headers=headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == content_type
    if output_format.get("encoding") == "pcm_s16le":
        pcm = np.frombuffer(answer.content, "<i2")
        assert share_heard(TEXT, pcm, 24_000) >= 0.7
    else:
        assert len(answer.content) > 4_000


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"transcript": ""}, 400),
        ({"transcript": "..."}, 400),
        ({"continue": True}, 400),
        ({"transcript": "x" * 100_000}, 413),
        ({"voice": {"id": "nobody"}}, 404),
        ({"output_format": {"container": "mp3", "sample_rate": 47_999}}, 400),
        ({"output_format": {"container": "raw", "bit_rate": 64_000}}, 400),
        ({"output_format": {"container": "mp3", "bit_rate": -5}}, 400),
        ({"colour": "red"}, 400),
    ],
)
async def test_bytes_refuses_with_an_http_error(
    http: httpx.AsyncClient, changes: dict[str, object], status: int
) -> None:
    answer = await http.post("/tts/bytes", json={"transcript": "Hello."} | changes)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]
