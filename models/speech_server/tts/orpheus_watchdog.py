"""Notices a voice model that has gone astray: one that loops, or says nothing any more."""

from collections import deque
from typing import Final

import numpy as np

from speech_server.tts.engine import Pcm16
from speech_server.tts.orpheus_codes import Frame
from speech_server.tts.silence import AUDIBLE_LEVEL

LONGEST_PATTERN: Final = 24
"""Longest pattern that counts as a loop when repeated, frames (2 s)."""
LOOP_FRAMES: Final = 12
"""Shortest stretch of exact repetition that counts as a loop, frames (1 s). All seven codes of a
frame repeat by chance in no speech, and in silence for some frames at most."""
LONGEST_SILENCE_S: Final = 3.0
"""Longest silence within a segment, seconds. Published voices open with up to 0.7 s of it."""


class LoopDetector:
    """Finds frames that repeat, singly or as a pattern of several."""

    def __init__(self) -> None:
        self._history: deque[Frame] = deque(maxlen=LONGEST_PATTERN)
        self._repeated = [0] * (LONGEST_PATTERN + 1)
        """For each period, how many frames up to the last one equal the frame that long before."""

    def push(self, frame: Frame) -> int:
        """Take the next frame.

        Returns:
            How many of the last frames repeat what was before them; 0 unless it is a loop.
        """
        for period in range(1, len(self._history) + 1):
            same = self._history[-period] == frame
            self._repeated[period] = self._repeated[period] + 1 if same else 0
        self._history.append(frame)
        loops = (
            count
            for period, count in enumerate(self._repeated)
            if period and count >= max(LOOP_FRAMES, 2 * period)
        )
        return max(loops, default=0)


class SilenceDetector:
    """Measures what of a segment was audible.

    Args:
        sample_rate_hz: rate of the audio.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self._rate_hz = sample_rate_hz
        self._samples = 0
        self.quiet_samples = 0
        """Length of the silence up to now, samples."""

    @property
    def too_long(self) -> bool:
        """Whether the silence up to now is none that speech has."""
        return self.quiet_samples >= LONGEST_SILENCE_S * self._rate_hz

    @property
    def spoken_samples(self) -> int:
        """How long the segment was before the silence up to now, samples."""
        return self._samples - self.quiet_samples

    def push(self, pcm: Pcm16) -> None:
        """Take the next piece.

        Args:
            pcm: int16, (samples,).
        """
        self._samples += len(pcm)
        # int32: the absolute value of -32768 does not fit int16.
        audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE_LEVEL)
        if audible.size:
            self.quiet_samples = len(pcm) - 1 - int(audible[-1])
        else:
            self.quiet_samples += len(pcm)

    def restart(self) -> None:
        """Begin to measure the silence anew."""
        self.quiet_samples = 0
