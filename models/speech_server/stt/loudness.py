"""Where speech stops, by loudness: the voice activity model goes on saying "speech" for 80 ms."""

from typing import Final

import numpy as np
import numpy.typing as npt

from speech_server.stt.engine import Pcm

START_PROBABILITY: Final = 0.5
_STAY_PROBABILITY: Final = 0.35
"""Hysteresis. Source of both: Silero VAD's own streaming iterator (threshold, threshold - 0.15)."""
FRAME_SAMPLES: Final = 128
"""Loudness is read in frames of 8 ms."""
_QUIET_RATIO: Final = 10 ** (-35 / 20)
"""A frame this far (35 dB) below the loudest one of the utterance is silence."""
_NOISE_MARGIN: Final = 1.8
"""A frame within 5 dB of the noise on the line is silence too, however loud the line."""
_NOISE_PROBABILITY: Final = 0.1
"""Windows below this tell what the noise on the line is."""
_NOISE_MEMORY: Final = 0.9
"""Share of the old estimate kept at each such window: it follows in about 0.3 s."""
_MAX_NOISE_RATIO: Final = 10 ** (-10 / 20)
"""Noise closer than 10 dB to the voice is not told from it by loudness."""
_PEAK_DECAY: Final = 0.97
"""How fast the loudest frame is forgotten between utterances, per window."""


class Loudness:
    """How loud the voice and the noise of one line are, and so what is silence on it."""

    def __init__(self) -> None:
        self._peak = 0.0
        self._noise = 0.0

    def spoken_until(self, window: Pcm, probability: float, *, in_utterance: bool) -> int | None:
        """Take the next window.

        Args:
            window: float32, (512,), 16 kHz.
            probability: that it holds speech, in [0, 1].
            in_utterance: whether somebody is speaking already.

        Returns:
            Where in the window speech stops, samples; None where it holds none.
        """
        loudness = _loudness(window)
        if probability >= START_PROBABILITY:
            self._peak = max(self._peak, float(loudness.max()))
        elif not in_utterance:
            self._peak *= _PEAK_DECAY
        if probability < _STAY_PROBABILITY:
            if probability < _NOISE_PROBABILITY:
                level = float(loudness.mean())
                known = self._noise or level
                self._noise = _NOISE_MEMORY * known + (1 - _NOISE_MEMORY) * level
            return None
        loud = np.flatnonzero(loudness > self._silence)
        return (int(loud[-1]) + 1) * FRAME_SAMPLES if loud.size else None

    def is_silence(self, pcm: Pcm) -> bool:
        """Whether nothing in it is as loud as speech on this line.

        Args:
            pcm: float32, (samples,), 16 kHz; whole frames.
        """
        return bool((_loudness(pcm) <= self._silence).all())

    @property
    def _silence(self) -> float:
        noise = min(self._noise * _NOISE_MARGIN, self._peak * _MAX_NOISE_RATIO)
        return max(self._peak * _QUIET_RATIO, noise)


def _loudness(pcm: Pcm) -> npt.NDArray[np.float32]:
    """Of each frame: float32, (frames,)."""
    squares = np.square(pcm.reshape(-1, FRAME_SAMPLES))
    loudness: npt.NDArray[np.float32] = np.sqrt(squares.mean(axis=1))
    return loudness
