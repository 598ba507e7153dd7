"""What a listener understands of spoken audio: words recognised by Moonshine."""

import functools
import re

import numpy as np
import numpy.typing as npt
import soxr
from moonshine_voice import ModelArch, Transcriber, get_model_path

_RATE_HZ = 16_000


@functools.cache
def _transcriber() -> Transcriber:
    return Transcriber(model_path=str(get_model_path("tiny-en")), model_arch=ModelArch.TINY)


def words_heard(pcm: npt.NDArray[np.int16], rate_hz: int) -> list[str]:
    """Recognise speech.

    Args:
        pcm: int16, (samples,), mono.
        rate_hz: its rate.

    Returns:
        Lower-case words without punctuation.
    """
    samples = pcm.astype(np.float64) / 32768
    if rate_hz != _RATE_HZ:
        samples = soxr.resample(samples, rate_hz, _RATE_HZ)
    # Some silence on both sides: the recogniser finds speech by what surrounds it.
    padded = np.concatenate((np.zeros(_RATE_HZ // 4), samples, np.zeros(_RATE_HZ // 2)))
    lines = _transcriber().transcribe_without_streaming(padded.tolist(), _RATE_HZ).lines
    return re.findall(r"[a-z0-9']+", " ".join(line.text for line in lines).lower())


def share_heard(said: str, pcm: npt.NDArray[np.int16], rate_hz: int) -> float:
    """Share of the words said that were heard, in [0, 1]; order does not matter."""
    wanted = re.findall(r"[a-z0-9']+", said.lower())
    heard = words_heard(pcm, rate_hz)
    return sum(word in heard for word in wanted) / len(wanted)
