"""Speech for tests, synthesised with the `flite` command line."""

import functools
import subprocess
import wave
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import numpy.typing as npt
import soxr

_AUDIBLE = 250
"""|sample| above this counts as speech; flite pads with near silence."""


@functools.cache
def _speak(text: str, voice: str, rate_hz: int, trim: bool) -> npt.NDArray[np.int16]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        subprocess.run(
            ["flite", "-voice", voice, "-t", text, "-o", str(path)],
            check=True,
            capture_output=True,
            timeout=30,
        )
        with wave.open(str(path)) as file:
            own_rate_hz = file.getframerate()
            pcm = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2")
    if trim:
        audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) > _AUDIBLE)
        pcm = pcm[audible[0] : audible[-1] + 1]
    if own_rate_hz != rate_hz:
        pcm = soxr.resample(pcm, own_rate_hz, rate_hz)
    pcm = pcm.astype(np.int16)
    pcm.setflags(write=False)
    return pcm


def speak(
    text: str, voice: str = "slt", rate_hz: int = 16_000, *, trim: bool = True
) -> npt.NDArray[np.int16]:
    """Speak a text.

    Args:
        text: what to say.
        voice: a flite voice: slt, rms, awb, kal or kal16.
        rate_hz: sample rate of the result.
        trim: cut the voice's own leading and trailing silence.

    Returns:
        int16, (samples,), mono, read-only; the same array for the same arguments.
    """
    return _speak(text, voice, rate_hz, trim)


def silence(duration_s: float, rate_hz: int = 16_000) -> npt.NDArray[np.int16]:
    """Room noise at about -75 dBFS: digital silence occurs on no real line.

    Args:
        duration_s: length, seconds.
        rate_hz: sample rate.

    Returns:
        int16, (samples,), mono; the same noise on every call.
    """
    noise = np.random.default_rng(7).normal(0.0, 6.0, round(duration_s * rate_hz))
    return noise.astype(np.int16)
