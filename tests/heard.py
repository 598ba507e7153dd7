"""What a listener understands of spoken audio: words recognised by Moonshine."""

import functools
import re
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import soxr
from moonshine_voice import ModelArch, Transcriber, get_model_path

_RATE_HZ = 16_000
_LEADS_S = (0.25, 0.31, 0.37)
"""Silence before the speech, seconds: the recogniser finds speech by what surrounds it."""
_TRAIL_S = 0.5


@functools.cache
def _transcriber() -> Transcriber:
    return Transcriber(model_path=str(get_model_path("tiny-en")), model_arch=ModelArch.TINY)


def words_heard(pcm: npt.NDArray[np.int16], rate_hz: int, lead_s: float = _LEADS_S[0]) -> list[str]:
    """Recognise speech.

    Args:
        pcm: int16, (samples,), mono.
        rate_hz: its rate.
        lead_s: silence put before it, seconds.

    Returns:
        Lower-case words without punctuation.
    """
    samples = pcm.astype(np.float64) / 32768
    if rate_hz != _RATE_HZ:
        samples = soxr.resample(samples, rate_hz, _RATE_HZ)
    padded = np.pad(samples, (round(lead_s * _RATE_HZ), round(_TRAIL_S * _RATE_HZ)))
    lines = _transcriber().transcribe_without_streaming(padded.tolist(), _RATE_HZ).lines
    return re.findall(r"[a-z0-9']+", " ".join(line.text for line in lines).lower())


def readings(pcm: npt.NDArray[np.int16], rate_hz: int) -> Iterator[list[str]]:
    """The words heard, again and again.

    Who did not understand listens once more: the model stumbles now and then, mostly into one word
    over and over, and not where its windows begin elsewhere.
    """
    for lead_s in _LEADS_S:
        yield words_heard(pcm, rate_hz, lead_s)


def share_heard(said: str, pcm: npt.NDArray[np.int16], rate_hz: int) -> float:
    """Share of the words said that were heard, in [0, 1]; order does not matter."""
    wanted = re.findall(r"[a-z0-9']+", said.lower())
    share = 0.0
    for heard in readings(pcm, rate_hz):
        share = max(share, sum(word in heard for word in wanted) / len(wanted))
        if share == 1:
            break
    return share
