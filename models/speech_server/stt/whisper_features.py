"""What Whisper is given to look at: log-mel spectra in windows cut to the utterance.

Whisper was trained on windows of 30 s, most of them padding. The encoder's cost grows with the
window, so that a shorter one is several times cheaper; but a decoder that never saw a short window
may not know when to stop. Sources: futo-org/whisper-acft, which trains that fault away, and
whisper.cpp's streaming example, which names 10 s as usable for the published weights. Hence: a
shortest window; steps, so that utterances of different callers fit one batch; and a second look
through the full window in case of doubt (`whisper_guards`).
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm

FULL_WINDOW_S: Final = 30.0
"""What Whisper was trained on; it can read no more at once."""
FRAMES_PER_S: Final = 100
_STEPS_S: Final = (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, FULL_WINDOW_S)
_MARGIN_S: Final = 0.3
"""Least padding behind the speech: the decoder learnt from it that the speech is over."""
_FFT_SAMPLES: Final = 400
_SILENT_FLOOR: Final = -1.5
"""Digital silence: log10(1e-10), scaled by Whisper's (x + 4) / 4."""
_DYNAMIC_RANGE: Final = 2.0
"""Whisper clips everything 8 decades below the loudest, which its scaling makes 2."""

Features = npt.NDArray[np.float32]
"""float32, (mel bands, frames), 100 frames a second."""


class Windows:
    """Cuts the window to the utterance.

    Args:
        extract: faster-whisper's `FeatureExtractor`.
        shortest_s: no window is shorter, seconds.
    """

    def __init__(self, extract: Callable[..., Any], shortest_s: float) -> None:
        self._extract = extract
        self._steps_s = tuple(step for step in _STEPS_S if step >= shortest_s) or (FULL_WINDOW_S,)

    @property
    def steps_s(self) -> tuple[float, ...]:
        """The windows in use, rising, seconds."""
        return self._steps_s

    def fitting_s(self, samples: int) -> float:
        """The shortest window for this much audio, seconds."""
        needed_s = samples / SAMPLE_RATE_HZ + _MARGIN_S
        return next((step for step in self._steps_s if step >= needed_s), FULL_WINDOW_S)

    def features(self, pcm: Pcm, window_s: float) -> Features:
        """The spectrum of audio followed by silence up to the window's end.

        Equals the spectrum of the padded audio; the padding's part is known beforehand.

        Args:
            pcm: float32, (samples,), 16 kHz, no longer than the window.
            window_s: length of the result, seconds.
        """
        frames = round(window_s * FRAMES_PER_S)
        spoken: Features = self._extract(np.pad(pcm, (0, _FFT_SAMPLES)), padding=0)[:, :frames]
        floor = max(float(spoken.max()) - _DYNAMIC_RANGE, _SILENT_FLOOR)
        window = np.full((spoken.shape[0], frames), floor, np.float32)
        window[:, : spoken.shape[1]] = spoken
        return window
