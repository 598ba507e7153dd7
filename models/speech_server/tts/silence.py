"""Silence around a segment: cut to the onset before it, to a pause of fitting length after it.

A voice's own leading silence (190 to 270 ms with flite) is time that a caller waits for nothing.
"""

import numpy as np

from speech_server.tts.characters import CLAUSE_END, CLOSING, SENTENCE_END
from speech_server.tts.engine import Pcm16

AUDIBLE_LEVEL = 150
"""|int16 sample| from which sound counts as audible. The voices' own silence stays below 102."""

ONSET_S = 0.01
"""Sound kept before the first audible sample, seconds, so that a soft onset is not clipped."""

SENTENCE_PAUSE_S = 0.2
"""Pause after a sentence, seconds."""
CLAUSE_PAUSE_S = 0.1
"""Pause after a clause, seconds."""
WORD_PAUSE_S = 0.02
"""Pause where a segment was cut between two words, seconds."""

_HELD_S = 0.3
"""Longest silence held back inside a segment, seconds: beyond it, it is no trailing silence."""

_EMPTY: Pcm16 = np.zeros(0, dtype=np.int16)


def pause_after(text: str) -> float:
    """The pause that fits the end of a segment, seconds."""
    end = text.rstrip().rstrip(CLOSING)
    if end.endswith(SENTENCE_END) or text.endswith("\n"):
        return SENTENCE_PAUSE_S
    return CLAUSE_PAUSE_S if end.endswith((*CLAUSE_END, "-")) else WORD_PAUSE_S


class SilenceTrimmer:
    """Trims one segment piece by piece.

    Args:
        sample_rate_hz: rate of the audio.
        pause_s: silence to leave at the end, seconds.
    """

    def __init__(self, sample_rate_hz: int, pause_s: float) -> None:
        self._pause = round(pause_s * sample_rate_hz)
        self._onset = round(ONSET_S * sample_rate_hz)
        self._max_held = max(self._pause, round(_HELD_S * sample_rate_hz))
        self._held = _EMPTY
        self._paused = 0
        """Samples of the pause that are sent already: the silence since the last sound."""
        self._begun = False
        self.dropped = 0
        """Leading samples dropped so far."""

    def push(self, pcm: Pcm16) -> Pcm16:
        """Trim the next piece.

        Silence that is no longer than the pause goes out at once, for a segment may go on behind
        it: a player that gets nothing meanwhile would make it longer.

        Args:
            pcm: int16, (samples,).

        Returns:
            int16, (samples,): what can be sent now; empty while all is silence.
        """
        pcm = np.concatenate((self._held, pcm))
        # int32: the absolute value of -32768 does not fit int16.
        audible = np.flatnonzero(np.abs(pcm.astype(np.int32)) >= AUDIBLE_LEVEL)
        if not self._begun:
            start = max(0, (int(audible[0]) if audible.size else len(pcm)) - self._onset)
            self.dropped += start
            self._begun = bool(audible.size)
            pcm, audible = pcm[start:], audible - start
            if not self._begun:
                self._held = pcm
                return _EMPTY
        if audible.size:
            self._paused = 0
        sound = int(audible[-1]) + 1 if audible.size else 0
        end = min(len(pcm), sound + self._pause - self._paused)
        end = max(end, len(pcm) - self._max_held)
        self._paused = min(self._pause, self._paused + end - sound)
        self._held = pcm[end:]
        return pcm[:end]

    def finish(self) -> Pcm16:
        """What is left of the pause after the segment; empty when nothing audible was pushed.

        Returns:
            int16, (samples,): the voice's own fading, filled up with silence.
        """
        if not self._begun:
            self.dropped += len(self._held)
            self._held = _EMPTY
            return _EMPTY
        pause = np.zeros(self._pause - self._paused, dtype=np.int16)
        fading = self._held[: len(pause)]
        pause[: len(fading)] = fading
        self._held = _EMPTY
        return pause
