import httpx
import numpy as np
import pytest

from speech_server.audio.pcm import int16_to_mulaw
from tests.audio_files import encoded
from tests.speech_server_process import SpeechServer
from tests.spoken import silence, speak

QUESTION = "What are your opening hours?"
SPEECH = np.concatenate((silence(0.3), speak(QUESTION, "rms"), silence(0.3)))
LIVEKIT = (
    "model=nova-3&punctuate=true&detect_language=false&smart_format=false"
    "&profanity_filter=false&numerals=false&mip_opt_out=false&language=en-US"
)
"""What livekit-plugins-deepgram 1.8.9 sends to recognise a buffer."""


async def post(server: SpeechServer, query: str, body: bytes, **headers: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        return await http.post(f"/v1/listen?{query}", content=body, headers=headers)


async def test_a_file_from_stock_livekit(speech_server: SpeechServer) -> None:
    headers = {"content-type": "audio/wav", "authorization": "Token none"}
    answer = await post(speech_server, LIVEKIT, encoded(SPEECH, 16_000), **headers)
    body = answer.json()
    assert answer.status_code == 200
    (alternative,) = body["results"]["channels"][0]["alternatives"]
    assert alternative["transcript"] == QUESTION
    assert alternative["words"] == []
    assert alternative["confidence"] == 0.0
    assert body["metadata"]["duration"] == pytest.approx(len(SPEECH) / 16_000, abs=0.001)
    assert "utterances" not in body["results"]


async def test_utterances_with_their_times(speech_server: SpeechServer) -> None:
    answer = await post(speech_server, "utterances=true", encoded(SPEECH, 16_000, "flac", "flac"))
    (utterance,) = answer.json()["results"]["utterances"]
    assert utterance["transcript"] == QUESTION
    assert utterance["start"] == pytest.approx(0.2, abs=0.1)
    assert utterance["end"] == pytest.approx(0.3 + len(speak(QUESTION, "rms")) / 16_000, abs=0.1)


@pytest.mark.parametrize("encoding", ["linear16", "mulaw"])
async def test_raw_audio(speech_server: SpeechServer, encoding: str) -> None:
    data = SPEECH.tobytes() if encoding == "linear16" else int16_to_mulaw(SPEECH)
    answer = await post(speech_server, f"encoding={encoding}&sample_rate=16000", data)
    (alternative,) = answer.json()["results"]["channels"][0]["alternatives"]
    assert "opening" in alternative["transcript"]


@pytest.mark.parametrize(
    ("query", "body", "fault"),
    [
        ("", b"", "empty"),
        ("encoding=linear16&sample_rate=16000", b"", "empty"),
        ("", b"<html>", "could not be decoded"),
        ("encoding=linear16", b"12", "both"),
        ("callback=http%3A%2F%2Fexample.org", b"12", "callback"),
        ("nonsense=1", b"12", "unknown parameter"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(
    speech_server: SpeechServer, query: str, body: bytes, fault: str
) -> None:
    answer = await post(speech_server, query, body)
    assert answer.status_code == 400
    assert fault in answer.json()["error"]["message"]


async def test_no_url_is_fetched(speech_server: SpeechServer) -> None:
    body = b'{"url": "http://127.0.0.1/secret.wav"}'
    answer = await post(speech_server, "", body, **{"content-type": "application/json"})
    assert answer.status_code == 400
    assert "fetches no URLs" in answer.json()["error"]["message"]
