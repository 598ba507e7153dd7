"""Where a caller's speech begins and where it stops, heard window by window.

Speech is found with a voice activity model; where exactly it stopped is read from the loudness
inside the model's windows, because the model itself goes on saying "speech" for about 80 ms. The
speech server finds its utterances the same way, so that both mean the same silences.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

RATE_HZ: Final = 16_000
WINDOW_SAMPLES: Final = 512
"""Samples of a window, 32 ms. Source: Silero VAD takes no other length at 16 kHz."""

_START_PROBABILITY: Final = 0.5
_STAY_PROBABILITY: Final = 0.35
"""Hysteresis. Source of both: Silero VAD's own streaming iterator (threshold, threshold - 0.15)."""
SIGN_PROBABILITY: Final = 0.15
"""A window like this may be the first of speech: the model doubts an "s" for a tenth of a second.
None of the 30,634 windows of noise around the recorded set is one."""
_START_WINDOWS: Final = 2
"""Consecutive windows of speech that begin it: one alone may be a click."""
_FRAME_SAMPLES: Final = 128
"""Loudness is read in frames of 8 ms."""
_QUIET_RATIO: Final = 10 ** (-35 / 20)
"""A frame this far (35 dB) below the loudest one is silence."""
_NOISE_MARGIN: Final = 1.8
"""A frame within 5 dB of the noise on the line is silence too."""
_NOISE_PROBABILITY: Final = 0.1
"""Windows below this tell what the noise on the line is."""
_NOISE_MEMORY: Final = 0.9
"""Share of the old estimate kept at each such window: it follows in about 0.3 s."""
_MAX_NOISE_RATIO: Final = 10 ** (-10 / 20)
"""Noise closer than 10 dB to the voice is not told from it by loudness."""
_PEAK_DECAY: Final = 0.97
"""How fast the loudest frame is forgotten while nobody speaks, per window."""

Pcm16 = npt.NDArray[np.int16]
_NOTHING: Final[Pcm16] = np.zeros(0, np.int16)


class VoiceModel(Protocol):
    """Judges the windows of one stream, in order; `livekit.local_inference.VAD` is one."""

    def predict(self, pcm: Pcm16) -> float:
        """Probability in [0, 1] that a window holds speech: int16, (512,), 16 kHz."""
        ...


@dataclass(frozen=True, slots=True)
class Heard:
    """What is known after one more window. Positions are samples of the stream."""

    position: int
    """One past the window's last sample."""
    speech: bool
    """Whether the window holds speech."""
    began: int | None
    """Where the stretch of speech began that this window confirms; None for every other window."""
    speech_end: int
    """Where the last speech stops; 0 before the first."""
    window: Pcm16 = field(default_factory=lambda: _NOTHING, repr=False, compare=False)
    """The window itself: int16, (512,)."""
    may_begin: bool = False
    """Whether the window may belong to speech that has not begun yet, as far as is known."""

    @property
    def silence_s(self) -> float:
        """Time since the last speech, seconds."""
        return (self.position - self.speech_end) / RATE_HZ


class SpeechActivity:
    """Follows one stream. Pure: no clock, no I/O; time is counted in samples.

    Args:
        model: the voice activity model of this stream.
    """

    def __init__(self, model: VoiceModel) -> None:
        self._model = model
        self._rest: Pcm16 = np.zeros(0, np.int16)
        self._position = 0
        self._speech_end = 0
        self._peak = 0.0
        self._noise = 0.0
        self._stretch = 0
        """Windows of speech in a row before it counts as such."""
        self._open = False

    def push(self, pcm: Pcm16) -> Iterator[Heard]:
        """Take the next audio, int16, (samples,), 16 kHz; one result for each whole window."""
        audio = np.concatenate((self._rest, pcm)) if self._rest.size else pcm
        whole = len(audio) - len(audio) % WINDOW_SAMPLES
        self._rest = audio[whole:].copy()
        for begin in range(0, whole, WINDOW_SAMPLES):
            yield self._take(audio[begin : begin + WINDOW_SAMPLES])

    def close_stretch(self) -> None:
        """What was said belongs to the past: the next speech has to begin anew."""
        self._open = False
        self._stretch = 0

    def _take(self, window: Pcm16) -> Heard:
        start = self._position
        self._position += WINDOW_SAMPLES
        probability = float(self._model.predict(window))
        spoken_until = self._spoken_until(window, probability)
        if spoken_until is None or (not self._open and probability < _START_PROBABILITY):
            self._stretch = 0
            sign = not self._open and probability >= SIGN_PROBABILITY
            return Heard(self._position, False, None, self._speech_end, window, sign)
        began = None
        if not self._open:
            self._stretch += 1
            if self._stretch < _START_WINDOWS:
                return Heard(self._position, False, None, self._speech_end, window, True)
            self._open = True
            began = start - (_START_WINDOWS - 1) * WINDOW_SAMPLES
        self._speech_end = start + spoken_until
        return Heard(self._position, True, began, self._speech_end, window)

    def _spoken_until(self, window: Pcm16, probability: float) -> int | None:
        """Where in the window speech stops, samples; None where it holds none."""
        samples = window.astype(np.float32) / 2**15
        loudness = np.sqrt(np.square(samples.reshape(-1, _FRAME_SAMPLES)).mean(axis=1))
        if probability >= _START_PROBABILITY:
            self._peak = max(self._peak, float(loudness.max()))
        elif not self._open:
            self._peak *= _PEAK_DECAY
        if probability < _STAY_PROBABILITY:
            if probability < _NOISE_PROBABILITY:
                level = float(loudness.mean())
                known = self._noise or level
                self._noise = _NOISE_MEMORY * known + (1 - _NOISE_MEMORY) * level
            return None
        noise = min(self._noise * _NOISE_MARGIN, self._peak * _MAX_NOISE_RATIO)
        loud = np.flatnonzero(loudness > max(self._peak * _QUIET_RATIO, noise))
        return (int(loud[-1]) + 1) * _FRAME_SAMPLES if loud.size else None
