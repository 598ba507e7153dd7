"""The words of a recorded call, whatever pauses a machine slower than speech has left in them."""

import wave
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import Levenshtein

from tests.heard import readings

_STEP_S: Final = 0.01
_SILENT_LEVEL: Final = 100
"""Highest sample of a step that counts as silent: 50 dB below full scale."""
_TURN_S: Final = 1.0
"""Silence from which on the other side has spoken: callers take longer than that."""
_BETWEEN_TURNS_S: Final = 0.5
"""What is left of it."""


def words_of_call(recording: Path, said: Sequence[str]) -> list[str]:
    """Recognise what one side of a call has said: of several readings the one nearest to it.

    Where an engine is slower than speech, its audio has gaps in the midst of words, which no
    recogniser reads. They are closed, and with them the short pauses of speech itself.

    Args:
        recording: a WAV file of 16 bits, mono.
        said: lower-case words without punctuation.

    Returns:
        Words of the same kind.
    """
    with wave.open(str(recording)) as file:
        rate_hz = file.getframerate()
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
    heard = readings(without_gaps(pcm, rate_hz), rate_hz)
    return min(heard, key=lambda words: Levenshtein.distance(said, words))


def without_gaps(pcm: npt.NDArray[np.int16], rate_hz: int) -> npt.NDArray[np.int16]:
    """Speech without its silences, but for a short one between two turns.

    Args:
        pcm: int16, (samples,), mono.
        rate_hz: its rate.
    """
    step = round(_STEP_S * rate_hz)
    steps = pcm[: len(pcm) // step * step].reshape(-1, step)
    audible = np.abs(steps.astype(np.int32)).max(axis=1) > _SILENT_LEVEL
    between = np.zeros(round(_BETWEEN_TURNS_S * rate_hz), np.int16)
    kept: list[npt.NDArray[np.int16]] = []
    silent = 0
    for sound, is_audible in zip(steps, audible, strict=True):
        if is_audible:
            if kept and silent * _STEP_S >= _TURN_S:
                kept.append(between)
            kept.append(sound)
            silent = 0
        else:
            silent += 1
    return np.concatenate(kept) if kept else pcm[:0]
