"""Cuts long audio where it is quiet, for models that read only so much at once."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm

_FRAME_SAMPLES: Final = SAMPLE_RATE_HZ // 10
"""Quiet is judged over 0.1 s: longer than the gaps inside a word, shorter than a pause."""


def cut_where_quiet(pcm: Pcm, longest_s: float, search_s: float) -> Iterator[Pcm]:
    """Cut audio into pieces that together are the audio again.

    Args:
        pcm: float32, (samples,), 16 kHz.
        longest_s: no piece is longer, seconds.
        search_s: a cut is made at the quietest place of this much audio before the limit, seconds;
            a whole number of tenths.

    Yields:
        float32, (samples,), views of `pcm`; audio that is short enough comes as it is.
    """
    longest = round(longest_s * SAMPLE_RATE_HZ)
    search = round(search_s * SAMPLE_RATE_HZ)
    while len(pcm) > longest:
        cut = quietest_place(pcm[:longest], search)
        yield pcm[:cut]
        pcm = pcm[cut:]
    yield pcm


def quietest_place(pcm: Pcm, search: int) -> int:
    """Where to cut audio so that it hurts least.

    Args:
        pcm: float32, (samples,), 16 kHz; at least 0.1 s.
        search: how much of its end is looked at, samples; counted in whole tenths of a second.

    Returns:
        A sample of `pcm`, in the middle of a tenth.
    """
    frames = max(1, search // _FRAME_SAMPLES)
    begin = len(pcm) - frames * _FRAME_SAMPLES
    energy = np.square(pcm[begin:].reshape(frames, _FRAME_SAMPLES)).sum(axis=1)
    return begin + int(energy.argmin()) * _FRAME_SAMPLES + _FRAME_SAMPLES // 2
