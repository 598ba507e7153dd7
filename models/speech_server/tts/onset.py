"""Finds where speech begins behind the near-silence that a neural voice opens with.

A codec's first samples click: its layers see zeros where there was no sound, which makes some
milliseconds that are well above the silence after them (peaks above 150 of 32,768 with the tiny
voice of the tests). Sound is therefore speech only when it lasts.
"""

from typing import Final

import numpy as np

from speech_server.tts.engine import Pcm16

LEVEL: Final = 100.0
"""RMS of int16 samples from which 10 ms count as sound: -50 dBFS. The near-silence of the tiny
voice lies at 10 to 30, its click below 90, the softest beginning of a word above 100."""
LASTING_STEPS: Final = 2
"""Steps in a row that make a sound speech: 20 ms."""
KEPT_S: Final = 0.02
"""Kept before the first step of sound, seconds, so that a soft beginning is not clipped."""

_STEP_S: Final = 0.01
_EMPTY: Pcm16 = np.zeros(0, dtype=np.int16)


class OnsetTrimmer:
    """Drops what comes before the speech of one segment.

    Args:
        sample_rate_hz: rate of the audio.
    """

    def __init__(self, sample_rate_hz: int) -> None:
        self._step = round(_STEP_S * sample_rate_hz)
        self._kept = round(KEPT_S * sample_rate_hz)
        self._held = _EMPTY
        self._begun = False
        self.dropped = 0
        """Samples dropped so far."""

    def push(self, pcm: Pcm16) -> Pcm16:
        """Take the next piece.

        Args:
            pcm: int16, (samples,).

        Returns:
            int16, (samples,): what can be heard of it; empty while there is no speech.
        """
        if self._begun:
            return pcm
        pcm = np.concatenate((self._held, pcm))
        onset = self._find(pcm)
        self._begun = onset is not None
        if onset is None:
            # As much as the next piece needs to find a beginning in: steps that may be its first,
            # what is kept before them, and a step that is not whole yet.
            steps = len(pcm) // self._step
            onset = max(0, (steps - LASTING_STEPS + 1) * self._step)
        start = max(0, onset - self._kept)
        start -= start % self._step  # the steps stay where they were
        self.dropped += start
        self._held = _EMPTY if self._begun else pcm[start:]
        return pcm[start:] if self._begun else _EMPTY

    def finish(self) -> Pcm16:
        """What is left when the segment ends: nothing, or a sound too short to be sure of.

        Returns:
            int16, (samples,).
        """
        rest, self._held = self._held, _EMPTY
        return rest

    def _find(self, pcm: Pcm16) -> int | None:
        """Index of the first sample of lasting sound."""
        steps = pcm[: len(pcm) // self._step * self._step].reshape(-1, self._step)
        loud = np.sqrt(np.mean(np.square(steps, dtype=np.float64), axis=1)) >= LEVEL
        run = 0
        for index, sound in enumerate(loud):
            run = run + 1 if sound else 0
            if run == LASTING_STEPS:
                return (index - LASTING_STEPS + 1) * self._step
        return None
