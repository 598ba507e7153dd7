"""The micro Whisper as an engine for tests, and what it was taught to hear."""

import wave
from pathlib import Path

import numpy as np

from speech_server.stt.engine import Pcm, Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine, WhisperOptions
from tests.spoken import silence, speak

FIXTURE = Path(__file__).parents[2] / "fixtures" / "micro_whisper"
MODEL = FIXTURE / "model"
OPENING = "What are your opening hours?"
WHEN = "When is my appointment?"
CANCEL = "Please cancel my appointment."
HUMAN = "Can I speak to a human, please?"
BOOK = "I would like to book an appointment on Tuesday at three thirty."
SLOT = "Do you have a free slot on Wednesday morning?"
NAME = "My name is Peter Miller."
BYE = "Okay, thank you, goodbye."
GERMAN = "Guten Tag, ich brauche einen Termin."
BREAKS_S = 1.25
"""Audio of exactly this length breaks the model in the fixture `model_calls`."""


def loaded_engine(
    *,
    model: Path = MODEL,
    shortest_window_s: float = 2.0,
    max_batch_size: int = 8,
    word_times: bool = False,
    language: str | None = None,
) -> WhisperEngine:
    """An engine that runs the micro Whisper on one thread of the CPU."""
    engine = WhisperEngine(
        WhisperOptions(
            model=str(model),
            device="cpu",
            cpu_threads=1,
            shortest_window_s=shortest_window_s,
            max_batch_size=max_batch_size,
            word_times=word_times,
            language=language,
        )
    )
    engine.load()
    return engine


def spoken(text: str, voice: str = "rms", *, lead_s: float = 0.1, trail_s: float = 0.1) -> Pcm:
    """A sentence as the segmenter would hand it over."""
    return samples(silence(lead_s), speak(text, voice), silence(trail_s))


def german_recording() -> Pcm:
    """`GERMAN`, spoken."""
    with wave.open(str(FIXTURE / "german.wav")) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    return samples(silence(0.1), pcm, silence(0.1))


def samples(*parts: np.ndarray) -> Pcm:
    """int16 parts, one after the other, as float32 in [-1, 1]."""
    return np.concatenate(parts).astype(np.float32) / np.float32(32768)


def heard(engine: WhisperEngine, *batch: Pcm | Utterance) -> list[str]:
    """The texts of a batch; fails where an utterance failed."""
    utterances = [one if isinstance(one, Utterance) else Utterance(one) for one in batch]
    texts = []
    for result in engine.transcribe(utterances):
        assert isinstance(result, Transcript), result
        texts.append(result.text)
    return texts
