"""Speech that goes on for more than a minute: no word is lost or doubled where it is cut."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np
import pytest

from tests.audio_files import encoded
from tests.listen_client import listening
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

RATE_HZ = 16_000
MODEL = Path(__file__).parents[1] / "fixtures" / "micro_whisper" / "model"
SENTENCES = (
    "What are your opening hours?",
    "When is my appointment?",
    "Do you have a free slot on Wednesday morning?",
    "My name is Peter Miller.",
    "Please cancel my appointment.",
    "Can I speak to a human, please?",
    "Okay, thank you, goodbye.",
) * 5
GAP_S = 0.25
LONGEST_S = 5
"""The micro Whisper reads two sentences in a row, not the ten that fit a full window."""


@pytest.fixture(scope="module")
def server() -> Iterator[SpeechServer]:
    with speech_server_process(
        ("stt",),
        stt_engine="whisper",
        stt_model=str(MODEL),
        stt_device="cpu",
        stt_cpu_threads="1",
        stt_shortest_window_s="2",
        stt_max_utterance_s=str(LONGEST_S),
        stt_max_latency_s="60",  # a busy machine is not what is tested here
    ) as server:
        yield server


@pytest.fixture(scope="module")
def speech() -> np.ndarray:
    parts = [part for text in SENTENCES for part in (speak(text, "rms"), silence(GAP_S))]
    spoken = np.concatenate((silence(0.3), *parts))
    assert len(spoken) > 60 * RATE_HZ
    return spoken


async def test_a_stream_is_heard_whole_and_nothing_twice(
    server: SpeechServer, speech: np.ndarray
) -> None:
    async with listening(server, "endpointing=false&interim_results=true") as client:
        await client.send(speech)
        assert await client.end() == 1000
    finals = [message for message in client.of_type("Results") if message["is_final"]]
    assert len(finals) > len(speech) / RATE_HZ / LONGEST_S  # it was cut, and not by the client
    assert max(message["duration"] for message in finals) <= LONGEST_S + 0.1
    assert " ".join(client.finals()).split() == " ".join(SENTENCES).split()


async def test_a_file_is_heard_whole_and_nothing_twice(
    server: SpeechServer, speech: np.ndarray
) -> None:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        answer = await http.post(
            "/v1/audio/transcriptions", files={"file": ("a.wav", encoded(speech, RATE_HZ))}
        )
    assert answer.json()["text"].split() == " ".join(SENTENCES).split()
