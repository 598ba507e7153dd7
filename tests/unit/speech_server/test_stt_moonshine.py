from collections.abc import Iterator

import numpy as np
import pytest

from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.moonshine import MoonshineEngine
from tests.spoken import silence, speak


@pytest.fixture(scope="module")
def engine() -> Iterator[MoonshineEngine]:
    engine = MoonshineEngine()
    engine.load()
    yield engine
    engine.close()


def hear(engine: MoonshineEngine, *parts: np.ndarray) -> str:
    pcm = np.concatenate(parts).astype(np.float32) / 32768
    (result,) = engine.transcribe([Utterance(pcm)])
    assert isinstance(result, Transcript), result
    assert result.words is None
    assert result.confidence is None
    return result.text


def test_it_hears_words(engine: MoonshineEngine) -> None:
    text = hear(engine, silence(0.1), speak("When is my appointment?", "rms"), silence(0.1))
    assert text == "When is my appointment?"


def test_a_batch_keeps_its_order(engine: MoonshineEngine) -> None:
    words = ("Thank you, goodbye.", "When is my appointment?")
    batch = [Utterance(speak(text, "rms").astype(np.float32) / 32768) for text in words]
    first, second = engine.transcribe(batch)
    assert isinstance(first, Transcript)
    assert isinstance(second, Transcript)
    assert "bye" in first.text
    assert "appointment" in second.text


@pytest.mark.parametrize("samples", [0, 1, 100, 8000])
def test_silence_is_no_word(engine: MoonshineEngine, samples: int) -> None:
    assert hear(engine, np.zeros(samples)) == ""


def test_a_quiet_lead_in_is_not_read_as_a_question_mark(engine: MoonshineEngine) -> None:
    text = hear(engine, silence(0.3), speak("What are your opening hours?", "rms"), silence(0.1))
    assert text.startswith("What")


def test_long_audio_is_read_whole_and_nothing_twice(engine: MoonshineEngine) -> None:
    sentence = np.concatenate((speak("What are your opening hours on Friday?"), silence(0.4)))
    text = hear(engine, *[sentence] * 6)
    assert text.lower().count("opening") == 6


def test_an_engine_that_is_not_loaded_fails_the_utterance() -> None:
    (result,) = MoonshineEngine().transcribe([Utterance(np.ones(1600, np.float32))])
    assert isinstance(result, RuntimeError)
