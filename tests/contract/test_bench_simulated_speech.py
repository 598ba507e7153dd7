"""The simulated speech engines of the call bench, behind the real server's wires."""

from collections.abc import Iterator

import httpx
import numpy as np
import pytest

from bench.call.answers import GREETING
from bench.call.engines import SIMULATED, running
from bench.turns.recorded_set import Utterance, recorded_set
from bench.turns.render import RATE_HZ
from tests.audio_files import encoded
from tests.heard import share_heard
from voice_agent.settings import home_dir

CHOSEN = ("tuned-003-complete-slt", "held_out-040-hesitation-awb", "tuned-065-trailing-rms")
"""A pause in the middle; an end in the middle of a sentence."""


@pytest.fixture(scope="module")
def recordings() -> list[Utterance]:
    """Some of the recorded set, which is rendered on first use."""
    every = recorded_set(home_dir() / "bench")
    return [one for name in CHOSEN for one in every if one.name == name]


@pytest.fixture(scope="module")
def http(recordings: list[Utterance]) -> Iterator[httpx.Client]:
    """A client of the simulated speech server."""
    assert len(recordings) == len(CHOSEN)
    with (
        running(SIMULATED) as settings,
        httpx.Client(base_url=settings["PARLEY_SPEECH_URL"], timeout=60) as client,
    ):
        yield client


@pytest.mark.timeout(240)  # the recorded set may have to be rendered, its words to be timed
def test_it_reads_what_is_said(http: httpx.Client, recordings: list[Utterance]) -> None:
    for one in recordings:
        pcm = np.concatenate((one.silence(0.3), one.pcm, one.silence(0.4)))
        answer = http.post(
            "/v1/audio/transcriptions",
            files={"file": ("turn.wav", encoded(pcm, RATE_HZ), "audio/wav")},
            data={"model": "any"},
        )
        # the mark is the recogniser's: it puts one after a sentence that was left unfinished, too
        words = one.text if one.text.endswith((".", "?")) else f"{one.text}."
        assert answer.json()["text"] == words


def test_it_speaks_what_it_has_rehearsed(http: httpx.Client) -> None:
    message = {
        "model_id": "any",
        "transcript": GREETING,
        "voice": {"mode": "id", "id": "slt"},
        "output_format": {"container": "raw", "encoding": "pcm_s16le", "sample_rate": 24_000},
    }
    answer = http.post("/tts/bytes", json=message)
    assert share_heard(GREETING, np.frombuffer(answer.content, "<i2"), 24_000) >= 0.7
