"""A codec of arithmetic that looks as far as SNAC does: three frames to each side."""

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Frame, codes_of
from speech_server.tts.snac_stream import Window

_WEIGHTS = (0.01, 0.05, 0.2, 1.0, 0.2, 0.05, 0.01)
_WITHIN = np.linspace(0.5, 1.0, FRAME_SAMPLES, dtype=np.float32)


def toy_decode(window: Window) -> PcmFloat:
    """As `SnacDecoder.decode`; the codes' sizes are the loudness, so that code 0 is silence."""
    loudness = window.codes.sum(axis=1) / (7 * 4096)
    reach = len(_WEIGHTS) // 2
    mixed = np.convolve(np.pad(loudness, reach), _WEIGHTS[::-1], mode="valid")
    audio = (mixed[:, None] * _WITHIN).astype(np.float32)
    return audio[window.left : len(audio) - window.right].reshape(-1)


def full_decode(frames: list[Frame]) -> PcmFloat:
    """All frames at once."""
    if not frames:
        return np.zeros(0, dtype=np.float32)
    return toy_decode(Window(codes_of(frames)))


def loud_frames(count: int, seed: int = 0) -> list[Frame]:
    """Frames that differ from each other, all of them audible."""
    numbers = np.random.default_rng(seed).integers(1000, 4096, (count, 7))
    return [tuple(row) for row in numbers.tolist()]
