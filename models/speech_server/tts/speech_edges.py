"""Cuts a segment to its speech: the near-silence that a neural voice opens and ends with goes.

What counts as sound follows the voice: four times its own near-silence, which is learnt from what
it has said. A codec clicks at both ends of a segment, where its layers see zeros for the sound that
is not there (30 samples at the start, 7 at the end, with the tiny voice of the tests), well above
the silence beside them: these edges are not measured.

A pause inside a segment looks like its end until sound follows. As much of it as the end may have
is handed out at once, for a player that gets nothing makes the pause longer; the rest waits.
"""

import math
from collections import deque
from typing import Final

import numpy as np

from speech_server.tts.engine import Pcm16
from speech_server.tts.silence import AUDIBLE_LEVEL, SENTENCE_PAUSE_S

EDGE_S: Final = 0.002
"""Either end of a segment, seconds, where a codec's click is."""
LOWEST_LEVEL: Final = 100.0
"""RMS of int16 samples from which 10 ms are sound in a voice of which nothing is known: -50 dBFS.
The near-silence of the tiny voice lies at 4 to 36, the softest beginning of a word above 100."""
HIGHEST_LEVEL: Final = 500.0
"""The same for the noisiest voice, -36 dBFS: more would cut into words."""
LASTING_STEPS: Final = 2
"""Steps in a row that make the first sound speech: 20 ms."""
KEPT_BEFORE_S: Final = 0.02
"""Kept before the first step of sound, seconds, so that a soft beginning is not clipped."""
KEPT_BEHIND_S: Final = 0.05
"""Kept behind the last step of sound, seconds, so that it can fade. Silence behind it that nobody
hears is handed out up to `SENTENCE_PAUSE_S`; `SilenceTrimmer` counts it as the pause there."""

_ABOVE_SILENCE: Final = 4.0
"""Sound is that many times louder than the voice's silence: 12 dB."""
_STEP_S: Final = 0.01
_SILENCE_STEPS: Final = 5
"""The quietest stretch of this length is the voice's silence: 50 ms."""
_PAUSE_STEPS: Final = round(SENTENCE_PAUSE_S / _STEP_S)
_HELD_STEPS: Final = 30
"""Longest silence held back inside a segment, 0.3 s: beyond it, it is no trailing silence."""
_EMPTY: Pcm16 = np.zeros(0, dtype=np.int16)


class SilenceLevel:
    """How loud a voice's own silence is, and so from where on something is sound."""

    def __init__(self) -> None:
        self._rms: float | None = None

    @property
    def sound_level(self) -> float:
        """RMS of int16 samples from which 10 ms are sound."""
        if self._rms is None:
            return LOWEST_LEVEL
        return min(HIGHEST_LEVEL, max(LOWEST_LEVEL, _ABOVE_SILENCE * self._rms))

    def learn(self, quietest_rms: float) -> None:
        """Take the quietest stretch of a segment; one that is speech itself says nothing."""
        if quietest_rms <= HIGHEST_LEVEL / _ABOVE_SILENCE:
            self._rms = quietest_rms


class SpeechEdges:
    """Cuts one segment piece by piece.

    Args:
        sample_rate_hz: rate of the audio.
        sound_level: RMS from which 10 ms are sound; see `SilenceLevel`.
    """

    def __init__(self, sample_rate_hz: int, sound_level: float = LOWEST_LEVEL) -> None:
        self._step = round(_STEP_S * sample_rate_hz)
        self._edge = round(EDGE_S * sample_rate_hz)
        self._before = round(KEPT_BEFORE_S / _STEP_S)
        self._behind = round(KEPT_BEHIND_S / _STEP_S)
        self._level = sound_level
        self._held = _EMPTY
        """What was not handed out, from the start of a step on."""
        self._sounds: list[bool] = []
        """Whether each step of it is sound, as far as they have been measured."""
        self._skipped = self._edge
        """Samples at the start of the next step that are not measured."""
        self._free = 0
        """Steps held that can be handed out whatever follows."""
        self._quiet = 0
        """Steps since the last one that is sound, handed out or not."""
        self._murmurs = False
        """Whether some of them could be taken for sound behind `KEPT_BEHIND_S`."""
        self._begun = False
        self._latest: deque[float] = deque(maxlen=_SILENCE_STEPS)
        self.dropped = 0
        """Samples dropped before the speech."""
        self.silent = 0
        """Samples before the first sound: those dropped, and those kept before it."""
        self.quietest_rms = math.inf
        """RMS of the quietest 50 ms so far."""

    def push(self, pcm: Pcm16) -> Pcm16:
        """Take the next piece.

        Args:
            pcm: int16, (samples,).

        Returns:
            int16, (samples,): what can be sent now; empty while all is silence.
        """
        self._held = np.concatenate((self._held, pcm))
        measurable = (len(self._held) - self._edge) // self._step
        for index in range(len(self._sounds), measurable):
            self._measure(self._held[index * self._step : (index + 1) * self._step])
        if not self._begun:
            self._drop_silence()
        if not self._begun:
            return _EMPTY
        return self._pop(max(self._free, len(self._sounds) - _HELD_STEPS))

    def finish(self) -> Pcm16:
        """The end of the speech, and its fading.

        Returns:
            int16, (samples,): empty when no sound was pushed.
        """
        for start in range(len(self._sounds) * self._step, len(self._held), self._step):
            self._measure(self._held[start : len(self._held) - self._edge][: self._step])
        end = self._sound_steps
        rest, self._held = self._held, _EMPTY
        if not (self._begun or end):
            self.dropped += len(rest)
            return _EMPTY
        handed_out = 0 if end else self._quiet - len(self._sounds)
        return rest[: (end + max(0, self._behind - handed_out)) * self._step]

    @property
    def _sound_steps(self) -> int:
        """Steps held up to the end of the last one that is sound."""
        return max((index for index, sound in enumerate(self._sounds, 1) if sound), default=0)

    def _drop_silence(self) -> None:
        """Drop what is before the speech, or can be no part of it any more."""
        run = onset = 0
        for index, sound in enumerate(self._sounds):
            run = run + 1 if sound else 0
            onset = index + 1 - run
            if run == LASTING_STEPS:
                self._begun = True
                break
        else:
            onset = len(self._sounds) - run
        self.silent = self.dropped + onset * self._step
        self.dropped += len(self._pop(max(0, onset - self._before)))

    def _pop(self, steps: int) -> Pcm16:
        samples = steps * self._step
        popped, self._held = self._held[:samples], self._held[samples:]
        del self._sounds[:steps]
        self._free = max(0, self._free - steps)
        return popped

    def _measure(self, step: Pcm16) -> None:
        measured = step[self._skipped :].astype(np.float64)
        self._skipped = 0
        power = float(np.mean(np.square(measured))) if len(measured) else 0.0
        self._take(math.sqrt(power) >= self._level, np.abs(measured).max(initial=0.0))
        self._latest.append(power)
        if len(self._latest) == _SILENCE_STEPS:
            self.quietest_rms = min(self.quietest_rms, math.sqrt(np.mean(self._latest)))

    def _take(self, sound: bool, peak: float) -> None:
        """Note the next step, and whether it can be handed out whatever follows."""
        self._sounds.append(sound)
        self._quiet = 0 if sound else self._quiet + 1
        fading = self._quiet <= self._behind
        # What `SilenceTrimmer` takes for sound would have the whole pause follow it.
        self._murmurs = not fading and (self._murmurs or peak >= AUDIBLE_LEVEL)
        if fading or (self._quiet <= _PAUSE_STEPS and not self._murmurs):
            self._free = len(self._sounds)
