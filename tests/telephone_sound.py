"""Sound as a telephone has it: 8 kHz, mono, and what of it is audible."""

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

Pcm16 = npt.NDArray[np.int16]

RATE_HZ = 8000
"""Of G.711, of every file that baresip plays and of its recordings."""
AUDIBLE = 500
"""|sample| above this is sound: G.711's own noise and comfort noise stay below."""


def write_wav(path: Path, pcm: Pcm16) -> None:
    """Write mono samples at the telephone's rate."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(pcm.astype("<i2").tobytes())


def is_silence(pcm: Pcm16) -> bool:
    """Whether nothing is audible."""
    return last_audible(pcm) < 0


def sound_of(pcm: Pcm16) -> Pcm16:
    """What lies between the silences before and after: a recogniser stumbles over long ones."""
    audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) > AUDIBLE)
    return pcm[audible[0] : audible[-1] + 1] if audible.size else pcm[:0]


def longest_silence_s(heard: Pcm16) -> float:
    """Longest stretch between two sounds, seconds."""
    audible = np.flatnonzero(np.abs(heard.astype(np.int32)) > AUDIBLE)
    return float(np.diff(audible).max()) / RATE_HZ


def last_audible(pcm: Pcm16) -> int:
    """Index of the last audible sample; -1 where there is none."""
    audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) > AUDIBLE)
    return int(audible[-1]) if audible.size else -1
