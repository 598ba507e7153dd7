"""Signs that speech begins, between the windows in which `SpeechActivity` listens.

How soon the voice activity model knows the beginning of speech depends on where in a window it
falls. An "s" ("stop", "sorry") it knows at once from a window that begins where the sound does, and
from one that begins elsewhere only with the vowel, a tenth of a second later. So a second model
hears windows that lie half a window later; and where something begins to hiss, the model is asked
about a window that begins there.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from voice_agent.turns.speech_activity import (
    SIGN_PROBABILITY,
    WINDOW_SAMPLES,
    Pcm16,
    VoiceModel,
)

_BETWEEN_PROBABILITY: Final = 0.2
"""A window between the others is a sign from here on. With 0.15, as in the others, a sniff or the
rustling of paper is a fourth more often one, and the latest sign comes 10 ms sooner."""
_DULL: Final = 0.05
"""Brightness below which a window between the others is no sign: a hum, a ring or a rumble."""
_HISS: Final = 2.4
"""Brightness of a hiss. The recorded set's "s" has 2.6 to 3.7; white noise has 2, and in no window
of 100,000 more than this; voices, "h", coughs and knocks have 0 to 1.3."""
_FRAME_SAMPLES: Final = 64
"""The beginning of a hiss is placed within 4 ms: the model knows an "s" of the recorded set from
windows that begin up to 6 ms before it, and no longer from 8 ms. One voice's it never knows."""
_QUIET_FRAMES: Final = 8
"""What a frame is compared with: the loudest of the 32 ms before."""
_RISE: Final = 4.0
"""Power by which a beginning stands out, 6 dB: Opus lets it rise gently. Behind Opus at 24 to 32
kbit/s one "s" in eight is known late with 10 dB, one in 24 with 6 dB."""
_AUDIBLE_POWER: Final = 100.0**2
"""Power of a beginning at least, of int16 (-50 dBFS): the faintest "s" of the recorded set is
twice as loud."""
_EARLIER_SAMPLES: Final = 8 * WINDOW_SAMPLES
"""What the model hears before the window it is asked about: with half of it, it takes the
rustling of paper for speech twice as often."""
_KEPT_SAMPLES: Final = 1 + _EARLIER_SAMPLES + WINDOW_SAMPLES + _FRAME_SAMPLES


class SpeechOnset:
    """Follows one stream beside its `SpeechActivity`. Pure, as that is.

    Args:
        load_model: makes a voice activity model that has heard nothing.
    """

    def __init__(self, load_model: Callable[[], VoiceModel]) -> None:
        self._load_model = load_model
        self._between = load_model()
        self._recent: Pcm16 = np.zeros(_KEPT_SAMPLES, np.int16)
        self._unheard = -WINDOW_SAMPLES // 2
        """Samples that the second model has not heard yet; its windows begin half a window late."""

    def push(self, pcm: Pcm16) -> bool:
        """Take the next audio, int16, (samples,), 16 kHz; whether it holds a sign of speech."""
        audio = np.concatenate((self._recent, pcm))
        self._recent = audio[-_KEPT_SAMPLES:]
        # both, always: the second model must not miss a window
        signs = [self._speaks_between(audio, len(pcm)), self._begins_with_hiss(audio, len(pcm))]
        return any(signs)

    def _speaks_between(self, audio: Pcm16, new: int) -> bool:
        self._unheard += new
        sign = False
        while self._unheard >= WINDOW_SAMPLES:
            begin = len(audio) - self._unheard
            window = audio[begin : begin + WINDOW_SAMPLES]
            self._unheard -= WINDOW_SAMPLES
            likely = self._between.predict(window) >= _BETWEEN_PROBABILITY
            sign = sign or (likely and _brightness(window) >= _DULL)
        return sign

    def _begins_with_hiss(self, audio: Pcm16, new: int) -> bool:
        return any(
            _brightness(audio[begin : begin + WINDOW_SAMPLES]) >= _HISS
            and self._is_speech(audio, begin)
            for begin in _beginnings(audio, new)
        )

    def _is_speech(self, audio: Pcm16, begin: int) -> bool:
        model = self._load_model()
        for earlier in range(begin - _EARLIER_SAMPLES, begin, WINDOW_SAMPLES):
            model.predict(audio[earlier : earlier + WINDOW_SAMPLES])
        return model.predict(audio[begin : begin + WINDOW_SAMPLES]) >= SIGN_PROBABILITY


def _beginnings(audio: Pcm16, new: int) -> list[int]:
    """Where sound may have begun: those places after which a window became whole just now."""
    frames = -(-new // _FRAME_SAMPLES)
    first = len(audio) - WINDOW_SAMPLES - (frames - 1) * _FRAME_SAMPLES
    start = first - _QUIET_FRAMES * _FRAME_SAMPLES
    samples = audio[start - 1 : first + frames * _FRAME_SAMPLES].astype(np.float32)
    # differences between neighbours: a rumble below does not hide a hiss
    steps = (samples[1:] - samples[:-1]).reshape(-1, _FRAME_SAMPLES)
    power = (np.einsum("ij,ij->i", steps, steps) / _FRAME_SAMPLES).tolist()
    return [
        first + frame * _FRAME_SAMPLES
        for frame in range(frames)
        if power[frame + _QUIET_FRAMES]
        > max(_AUDIBLE_POWER, _RISE * max(power[frame : frame + _QUIET_FRAMES]))
    ]


def _brightness(window: Pcm16) -> float:
    """Power of the differences between neighbouring samples relative to that of the samples.

    0 for the lowest tones, 4 for the highest.
    """
    samples = window.astype(np.float32)
    steps = samples[1:] - samples[:-1]
    return float(steps @ steps) / max(1.0, float(samples @ samples))
