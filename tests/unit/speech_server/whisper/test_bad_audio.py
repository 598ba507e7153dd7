"""What is no speech is no word, and what breaks breaks alone."""

from collections.abc import Sequence

import numpy as np
import pytest

from speech_server.stt.engine import Pcm, Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine, WhisperOptions
from speech_server.stt.whisper_decoder import Reading, WhisperDecoder, Window
from speech_server.stt.whisper_model import WhisperUnavailable
from tests.spoken import speak
from tests.unit.speech_server.micro_whisper import (
    BREAKS_S,
    NAME,
    OPENING,
    WHEN,
    heard,
    loaded_engine,
    samples,
    spoken,
)


def test_a_window_that_breaks_the_model_fails_alone(
    engine: WhisperEngine, model_calls: list[tuple[int, float]]
) -> None:
    broken = Utterance(samples(speak(WHEN, "rms")[: round(BREAKS_S * 16_000)]))
    first, second, third = engine.transcribe(
        [Utterance(spoken(WHEN)), broken, Utterance(spoken(NAME))]
    )
    assert isinstance(first, Transcript)
    assert isinstance(second, RuntimeError)
    assert isinstance(third, Transcript)
    assert (first.text, third.text) == (WHEN, NAME)


@pytest.mark.parametrize(
    "pcm",
    [
        np.full(16_000, np.nan, np.float32),
        np.full(16_000, np.inf, np.float32),
        np.zeros((2, 16_000), np.float32),
    ],
)
def test_audio_that_is_none_fails_alone(engine: WhisperEngine, pcm: Pcm) -> None:
    bad, good = engine.transcribe([Utterance(pcm), Utterance(spoken(WHEN))])
    assert isinstance(bad, ValueError)
    assert isinstance(good, Transcript)
    assert good.text == WHEN


@pytest.mark.parametrize("count", [0, 1, 100, 8_000, 600_000])
def test_digital_silence_is_no_word(
    engine: WhisperEngine, model_calls: list[tuple[int, float]], count: int
) -> None:
    assert heard(engine, np.zeros(count, np.float32)) == [""]
    assert model_calls == []


def _noise(seed: int, duration_s: float, level: float) -> Pcm:
    count = round(duration_s * 16_000)
    return np.random.default_rng(seed).normal(0.0, level, count).astype(np.float32)


@pytest.mark.parametrize("level", [0.002, 0.02, 0.2])
@pytest.mark.parametrize("duration_s", [0.3, 2.5, 7.0])
def test_noise_is_no_word(engine: WhisperEngine, level: float, duration_s: float) -> None:
    assert heard(engine, _noise(3, duration_s, level)) == [""]


def test_hum_is_no_word(engine: WhisperEngine) -> None:
    turn = 2 * np.pi * np.arange(32_000) / 16_000
    assert heard(engine, (0.1 * np.sin(turn * 100)).astype(np.float32)) == [""]


def test_clipped_and_offset_speech_is_heard(engine: WhisperEngine) -> None:
    pcm = spoken(OPENING)
    clipped = np.clip(pcm * 4, -1.0, 1.0)
    assert heard(engine, clipped, pcm + np.float32(0.05)) == [OPENING, OPENING]


def test_a_model_that_breaks_when_it_is_run_is_told_by_load(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_: WhisperDecoder, windows: Sequence[Window]) -> list[Reading]:
        raise RuntimeError("Library libcublas.so.12 is not found")

    monkeypatch.setattr(WhisperDecoder, "read", broken)
    with pytest.raises(WhisperUnavailable, match=r"does not run on this cpu.*libcublas"):
        loaded_engine()


def test_an_engine_that_is_not_loaded_says_so() -> None:
    engine = WhisperEngine(WhisperOptions())
    assert engine.info.max_batch_size == 1
    with pytest.raises(RuntimeError, match="not loaded"):
        engine.transcribe([Utterance(spoken(WHEN))])
    engine.close()
