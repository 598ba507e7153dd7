"""Hears the beep of an answering machine: one steady tone of 0.3 to 1.5 s, and then none.

Pure: PCM in, times out. A window of 50 ms is a tone when nearly all its energy lies around one
frequency; a beep is such windows in a row at one frequency, with nothing of the kind before and
after. Speech and music move; the tones of a network (ringing, busy, keys) are two frequencies at
once, or three in a row.
"""

from typing import Final

import numpy as np
import numpy.typing as npt

MIN_BEEP_S: Final = 0.3
MAX_BEEP_S: Final = 1.5
"""Lengths that count as a beep, seconds."""
MIN_HZ: Final = 400.0
MAX_HZ: Final = 2000.0
"""Frequencies that machines beep at, hertz."""

_WINDOW_S: Final = 0.05
"""Long enough to tell ringing's two tones apart: 440 and 480 Hz. Source: ITU-T E.182."""
_HOP_S: Final = 0.01
_MIN_LEVEL: Final = 0.01
"""Quietest tone, RMS of full scale: -40 dB."""
_MIN_SHARE: Final = 0.85
"""Share of a window's energy around its strongest frequency. G.711 leaves a pure tone above 0.9; a
sung vowel stays below 0.7, two equal tones at 0.6."""
_SIDE_BINS: Final = 1
_MAX_DRIFT: Final = 0.04
"""Largest change of frequency within a beep, of the frequency it began with."""
_APART_S: Final = 0.08
"""Without a tone before and after a beep; the three of "no such number" follow each other at once.
Source: ITU-T E.180, special information tone (gaps up to 30 ms)."""
_MAX_HOLES: Final = 2
"""Windows in a row that may be missed within a tone."""
_EDGE_S: Final = 0.04
"""How much longer or shorter windows that overlap its edges make a tone."""


class BeepDetector:
    """Listens to one stream of audio.

    Args:
        rate_hz: Of the audio, at least 8 kHz.
    """

    def __init__(self, rate_hz: int) -> None:
        if rate_hz < 8000:
            raise ValueError("audio of at least 8 kHz is needed")
        self._rate_hz = rate_hz
        self._size = round(rate_hz * _WINDOW_S)
        self._hop = round(rate_hz * _HOP_S)
        self._taper = np.hanning(self._size)
        self._rest: npt.NDArray[np.int16] = np.empty(0, np.int16)
        self._began_at_hz = 0.0
        self._windows = 0
        """Of the tone that is on, or has just ended."""
        self._since = 0
        """Windows since then."""
        self._in_melody = False
        """Whether another tone came right before this one."""

    def push(self, pcm: npt.NDArray[np.int16]) -> bool:
        """Hear more audio; whether a beep ended in it.

        Args:
            pcm: int16, (samples,), mono.
        """
        audio = np.concatenate((self._rest, pcm))
        ended = False
        start = 0
        while start + self._size <= len(audio):
            ended |= self._hear(self._tone(audio[start : start + self._size]))
            start += self._hop
        self._rest = audio[start:]
        return ended

    def _hear(self, tone_hz: float | None) -> bool:
        """Take the next window; whether a beep is over by now."""
        if tone_hz is not None:
            if self._belongs(tone_hz):
                self._windows += 1 + self._since
            else:
                self._in_melody = self._windows > _MAX_HOLES
                self._windows, self._began_at_hz = 1, tone_hz
            self._since = 0
            return False
        if not self._windows:
            return False
        self._since += 1
        if self._since * _HOP_S < _APART_S:
            return False
        length_s, in_melody = self._windows * _HOP_S, self._in_melody
        self._windows = self._since = 0
        self._in_melody = False
        return not in_melody and MIN_BEEP_S - _EDGE_S <= length_s <= MAX_BEEP_S + _EDGE_S

    def _belongs(self, tone_hz: float) -> bool:
        if not self._windows or self._since > _MAX_HOLES:
            return False
        return abs(tone_hz - self._began_at_hz) <= _MAX_DRIFT * self._began_at_hz

    def _tone(self, window: npt.NDArray[np.int16]) -> float | None:
        """Frequency of a window that is a tone, hertz; None for all else."""
        samples = window.astype(np.float64) / np.iinfo(np.int16).max
        if np.sqrt(np.mean(samples**2)) < _MIN_LEVEL:
            return None
        energy = np.abs(np.fft.rfft(samples * self._taper)) ** 2
        # hum and the offset of cheap converters are no part of it
        energy[: int(100 * self._size / self._rate_hz) + 1] = 0.0
        peak = int(np.argmax(energy))
        first = max(peak - _SIDE_BINS, 0)
        around = energy[first : peak + _SIDE_BINS + 1]
        total = float(energy.sum())
        if total == 0.0 or float(around.sum()) / total < _MIN_SHARE:
            return None
        bins = np.arange(first, first + len(around))
        tone_hz = float((bins * around).sum() / around.sum()) * self._rate_hz / self._size
        return tone_hz if MIN_HZ <= tone_hz <= MAX_HZ else None
