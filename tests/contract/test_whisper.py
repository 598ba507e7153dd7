"""The Whisper engine behind the wires, with a model small enough for every machine."""

import asyncio
import wave
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import numpy.typing as npt
import pytest
from openai import AsyncOpenAI

from tests.audio_files import encoded
from tests.listen_client import listening
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

FIXTURES = Path(__file__).parents[1] / "fixtures"
MODEL = FIXTURES / "micro_whisper" / "model"
CONVERSATION = sorted((FIXTURES / "conversation").glob("*.wav"))
SETTINGS = {
    "stt_engine": "whisper",
    "stt_model": str(MODEL),
    "stt_device": "cpu",
    "stt_cpu_threads": "1",
    "stt_shortest_window_s": "2",
}


@pytest.fixture(scope="module")
def whisper_server() -> Iterator[SpeechServer]:
    with speech_server_process(("stt",), **SETTINGS) as server:
        yield server


def recording(path: Path) -> npt.NDArray[np.int16]:
    with wave.open(str(path)) as file:
        return np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")


def words(path: Path) -> str:
    return path.with_suffix(".txt").read_text(encoding="utf-8").strip()


async def test_the_model_is_named_with_its_languages(whisper_server: SpeechServer) -> None:
    async with httpx.AsyncClient(base_url=whisper_server.url) as http:
        (card,) = (await http.get("/v1/models")).json()["data"]
    assert card["id"] == "model"
    assert {"en", "de"} <= set(card["languages"])


@pytest.mark.parametrize("path", CONVERSATION, ids=lambda path: path.stem)
async def test_a_stream_is_heard(whisper_server: SpeechServer, path: Path) -> None:
    async with listening(whisper_server, "endpointing=500&interim_results=true") as client:
        await client.send(silence(0.4), recording(path), silence(1.0))
        assert await client.end() == 1000
        assert " ".join(filter(None, client.finals())) == words(path)


async def test_a_whole_call_on_one_stream_is_heard(whisper_server: SpeechServer) -> None:
    async with listening(whisper_server, "endpointing=500") as client:
        for path in CONVERSATION:
            await client.send(silence(0.4), recording(path), silence(1.0))
        assert await client.end() == 1000
        assert list(filter(None, client.finals())) == [words(path) for path in CONVERSATION]


@pytest.mark.parametrize("path", CONVERSATION, ids=lambda path: path.stem)
async def test_a_file_is_heard(whisper_server: SpeechServer, path: Path) -> None:
    pcm = np.concatenate((silence(0.3), recording(path), silence(0.3)))
    async with AsyncOpenAI(base_url=f"{whisper_server.url}/v1", api_key="none") as client:
        answer = await client.audio.transcriptions.create(
            model="whisper-1",
            file=("a.wav", encoded(pcm, 16_000)),
            prompt="Peter Miller, Tuesday",
            response_format="verbose_json",
        )
    assert answer.text == words(path)
    assert answer.language == "en"


async def test_noise_is_no_word(whisper_server: SpeechServer) -> None:
    noise = np.random.default_rng(5).normal(0.0, 1500.0, 64_000).astype(np.int16)
    async with listening(whisper_server, "keyterm=Miller") as client:
        await client.send(noise)
        assert await client.end() == 1000
        assert list(filter(None, client.finals())) == []


async def test_callers_at_once_each_get_their_own_words(whisper_server: SpeechServer) -> None:
    texts = [words(path) for path in CONVERSATION]

    async def call(path: Path) -> str:
        async with listening(whisper_server, "endpointing=500") as client:
            await client.send(silence(0.4), recording(path), silence(1.0))
            await client.end()
            return " ".join(filter(None, client.finals()))

    assert await asyncio.gather(*(call(path) for path in CONVERSATION)) == texts


async def test_a_language_that_the_model_lacks_is_refused(whisper_server: SpeechServer) -> None:
    file = {"file": ("a.wav", encoded(speak("Yes, please.", "rms"), 16_000))}
    async with httpx.AsyncClient(base_url=whisper_server.url, timeout=60) as http:
        answer = await http.post("/v1/audio/transcriptions", files=file, data={"language": "tlh"})
    assert answer.status_code == 400
    assert "language" in answer.json()["error"]["message"]


def test_a_model_that_is_not_there_is_told_by_ready() -> None:
    with speech_server_process(("stt",), **SETTINGS | {"stt_model": "/no/such"}) as server:
        answer = httpx.get(f"{server.url}/ready")
        assert answer.status_code == 503
        assert "no such directory" in answer.text
