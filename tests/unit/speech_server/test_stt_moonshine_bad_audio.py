"""Audio that is no sound fails alone in the built-in engine too, or has no text."""

from collections.abc import Iterator

import numpy as np
import pytest

from speech_server.stt.engine import Pcm, Transcript, Utterance
from speech_server.stt.moonshine import MoonshineEngine
from tests.spoken import speak

QUESTION = "What are your opening hours?"


@pytest.fixture(scope="module")
def engine() -> Iterator[MoonshineEngine]:
    engine = MoonshineEngine()
    engine.load()
    yield engine
    engine.close()


@pytest.mark.parametrize(
    "pcm",
    [
        pytest.param(np.full(16_000, np.nan, np.float32), id="nan"),
        pytest.param(np.full(16_000, np.inf, np.float32), id="inf"),
        pytest.param(np.full(16_000, 1e30, np.float32), id="huge"),
        pytest.param(np.full(16_000, 1e-40, np.float32), id="denormal"),
        pytest.param(np.zeros(0, np.float32), id="empty"),
        pytest.param(np.ones(1, np.float32), id="one sample"),
        pytest.param(np.tile(np.float32([1, -1]), 8_000), id="the highest tone"),
        pytest.param(np.ones(16_000, np.float32), id="nothing but DC"),
    ],
)
def test_the_next_caller_is_heard(engine: MoonshineEngine, pcm: Pcm) -> None:
    question = speak(QUESTION, "rms").astype(np.float32) / np.float32(32768)
    bad, good = engine.transcribe([Utterance(pcm), Utterance(question)])
    assert isinstance(bad, Transcript | Exception)
    if not np.isfinite(pcm).all():
        assert isinstance(bad, ValueError), bad
    assert isinstance(good, Transcript)
    assert good.text == QUESTION
