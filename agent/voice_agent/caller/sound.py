"""What counts as sound, and the format that a call is spoken and heard in."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Pcm16: TypeAlias = npt.NDArray[np.int16]
"""Mono samples, shape (samples,), int16."""

RATE_HZ = 24_000
"""Sample rate in both directions: the rate of the agent's voice."""
FRAME_SAMPLES = RATE_HZ // 100
"""Samples in one 10 ms frame, the only size that an unqueued `rtc.AudioSource` takes."""
FRAME_S = FRAME_SAMPLES / RATE_HZ
"""Length of one frame, seconds."""

AUDIBLE_SAMPLE = 250
"""A sample whose magnitude is above this is audible (-42 dBFS, int16)."""
AUDIBLE_RMS = 300.0
"""A frame whose root mean square is above this is audible (-41 dBFS, int16)."""
NOISE_FLOOR_RMS = 32768 * 10 ** (-75 / 20)
"""Root mean square of the line noise between turns, -75 dBFS: a real line is never digital zero,
and digital zero lets the encoder stop sending."""


def rms(frame: Pcm16) -> float:
    """Root mean square of `frame`; 0 for an empty one."""
    if not frame.size:
        return 0.0
    return float(np.sqrt(np.mean(np.square(frame, dtype=np.float64))))


def audible_indices(samples: Pcm16) -> tuple[int, int] | None:
    """Indices of the first and the last audible sample; None when there is none."""
    # widened first: the magnitude of -32768 does not fit into int16
    audible = np.flatnonzero(np.abs(samples.astype(np.int32)) > AUDIBLE_SAMPLE)
    if not audible.size:
        return None
    return int(audible[0]), int(audible[-1])
