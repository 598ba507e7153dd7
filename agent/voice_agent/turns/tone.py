"""How a caller's voice ends: its pitch and its loudness before a silence.

Whoever is done lets the voice sink to the bottom of its range and fade; whoever looks for a word
holds both. Pitch is read from the autocorrelation of short frames, which is a tenth of a
millisecond of work for each window of audio. Source of the method: P. Boersma, "Accurate short-term
analysis of the fundamental frequency", 1993 (the window's own autocorrelation divided out).
"""

from collections import deque
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Heard, Pcm16

_FRAME_SAMPLES: Final = round(0.04 * RATE_HZ)
"""40 ms: three periods of the lowest voice."""
_HOP_SAMPLES: Final = WINDOW_SAMPLES // 2
_LOWEST_HZ: Final = 60
_HIGHEST_HZ: Final = 400
_FFT_SAMPLES: Final = 2048
"""Long enough that the autocorrelation does not wrap around."""
_VOICED: Final = 0.6
"""Share of a frame's energy that has to repeat for a period to be one."""
_OCTAVE_COST: Final = 0.06
"""By how much a period twice as long has to fit better: two periods repeat as well as one."""
_LOUD_ENOUGH: Final = 0.003
"""Root mean square, of full scale (-50 dBFS), below which a frame is no voice."""
_REMEMBERED: Final = 400
"""Voiced frames from which the caller's range is known: 6.4 s of voice."""
_KNOWN_FROM: Final = 12
"""Voiced frames below which nothing is said of the range: 0.2 s."""
_LOW_PERCENTILE: Final = 10
"""The bottom of the range; lower values are mostly mistakes."""
_FINAL_FRAMES: Final = 6
"""Frames that are the end of the voice: 0.1 s."""
_PITCH_RANGE: Final = (-3.0, 6.0)
_FADE_RANGE_DB: Final = (-3.0, 12.0)

_Samples = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Tone:
    """How the voice ended."""

    pitch: float
    """Semitones above the bottom of the caller's range, -3 to 6."""
    fade_db: float
    """How much softer than the caller usually is, dB, -3 to 12."""


class ToneOfVoice:
    """Follows one caller's voice, over all of their turns."""

    def __init__(self) -> None:
        self._window = np.hanning(_FRAME_SAMPLES)
        self._lags = slice(RATE_HZ // _HIGHEST_HZ, RATE_HZ // _LOWEST_HZ)
        lags = np.arange(self._lags.start, self._lags.stop)
        self._octave_cost = _OCTAVE_COST * np.log2(lags)
        self._window_correlation = _autocorrelation(self._window)
        self._rest: Pcm16 = np.zeros(0, np.int16)
        self._voiced: deque[tuple[float, float]] = deque(maxlen=_REMEMBERED)
        """Pitch in semitones (of 1 Hz) and level in dB of each voiced frame."""

    def hear(self, heard: Heard) -> None:
        """Take the next window; only what belongs to speech counts."""
        if not heard.speech:
            self._rest = self._rest[:0]
            return
        audio = np.concatenate((self._rest, heard.window))
        at = 0
        while at + _FRAME_SAMPLES <= len(audio):
            self._take(audio[at : at + _FRAME_SAMPLES].astype(np.float64) / 2**15)
            at += _HOP_SAMPLES
        self._rest = audio[at:].copy()

    def tone(self) -> Tone | None:
        """How the voice ended; None where too little was heard of it."""
        if len(self._voiced) < _KNOWN_FROM:
            return None
        pitches, levels = np.array(self._voiced).T
        final_pitch = np.median(pitches[-_FINAL_FRAMES:])
        pitch = final_pitch - np.percentile(pitches, _LOW_PERCENTILE)
        fade_db = np.median(levels) - levels[-_FINAL_FRAMES:].mean()
        return Tone(float(np.clip(pitch, *_PITCH_RANGE)), float(np.clip(fade_db, *_FADE_RANGE_DB)))

    def _take(self, frame: _Samples) -> None:
        frame = frame - frame.mean()
        level = float(np.sqrt(np.square(frame).mean()))
        if level < _LOUD_ENOUGH:
            return
        correlation = _autocorrelation(frame * self._window) / self._window_correlation
        repeats = correlation[self._lags]
        best = int((repeats - self._octave_cost).argmax())
        if repeats[best] > _VOICED:
            pitch_hz = RATE_HZ / (self._lags.start + best)
            self._voiced.append((12 * float(np.log2(pitch_hz)), 20 * float(np.log10(level))))


def _autocorrelation(frame: _Samples) -> _Samples:
    """Of a frame with itself, by lag in samples; 1 at lag 0."""
    spectrum = np.fft.rfft(frame, _FFT_SAMPLES)
    correlation: _Samples = np.fft.irfft(np.abs(spectrum) ** 2)[: RATE_HZ // _LOWEST_HZ + 1]
    scaled: _Samples = correlation / correlation[0]
    return scaled
