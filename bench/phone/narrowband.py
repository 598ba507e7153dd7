"""What a caller says, made ready for a telephone line, which carries nothing above 4 kHz."""

from dataclasses import replace
from typing import Final

import numpy as np
import soxr

from bench.call.sayings import Saying
from bench.phone import g711
from voice_agent.caller.sound import FRAME_SAMPLES, RATE_HZ, Pcm16, audible_indices

_EVERY: Final = RATE_HZ // g711.RATE_HZ
"""Samples of the caller's microphone for one of the telephone's."""


def for_the_line(saying: Saying) -> Saying:
    """The same saying with the telephone's band, still at the microphone's rate.

    Every third of its samples is then what a telephone sends. It ends with the frame of the last
    sample that is audible on the line: a hiss may end sooner there.
    """
    utterance = saying.utterance
    narrow = soxr.resample(utterance.samples, RATE_HZ, g711.RATE_HZ)
    samples = _widened(narrow, len(utterance.samples))
    audible = audible_indices(samples)
    assert audible is not None, f"{utterance.name} is silent on the line"
    first, last = audible
    frames = last // FRAME_SAMPLES + 1
    return replace(
        saying,
        onset_s=first / RATE_HZ,
        utterance=replace(utterance, samples=samples[: frames * FRAME_SAMPLES], last_audible=last),
    )


def thinned(frame: Pcm16) -> Pcm16:
    """What the telephone sends of a frame of the microphone's: int16, (samples / 3,)."""
    return frame[::_EVERY]


def thickened(pcm: Pcm16) -> Pcm16:
    """What a telephone plays, at the ear's rate: each sample three times, so none is moved.

    Args:
        pcm: int16, (samples,), 8 kHz.
    """
    return np.repeat(pcm, _EVERY)


def _widened(narrow: Pcm16, length: int) -> Pcm16:
    wide: Pcm16 = soxr.resample(narrow, g711.RATE_HZ, RATE_HZ)
    padded = np.zeros(length, np.int16)
    padded[: min(length, len(wide))] = wide[:length]
    return padded
