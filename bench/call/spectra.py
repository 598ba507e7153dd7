"""The shape of short-time spectra: what a sound is like, however loud."""

from typing import Final

import numpy as np
import numpy.typing as npt

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm

HOP_S: Final = 0.02
"""Between two spectra, seconds."""
HOP: Final = round(HOP_S * SAMPLE_RATE_HZ)
_WINDOW: Final = 2 * HOP
"""Half of each window is shared with the next, so that it matters little where windows begin."""
BANDS: Final = 20
_LOWEST_HZ: Final = 120.0
_HIGHEST_HZ: Final = 6000.0
"""Codecs of calls keep what is below."""
_QUIET: Final = 10 ** (-50 / 20)
"""A window with a root mean square below this (-50 dBFS) is silence: speech has -20 dBFS."""
_FLOOR: Final = 1e-7
"""Added to a band's mean power, so that noise on the line has no shape."""

Spectra = npt.NDArray[np.float32]
"""float32, (windows, `BANDS`), one window every `HOP_S`; silence is 0."""


def spectral_shapes(pcm: Pcm) -> Spectra:
    """How loud each band is against the others, in each window.

    Args:
        pcm: float32, (samples,), 16 kHz.

    Returns:
        float32, (windows, `BANDS`), natural logarithms; silence is 0.
    """
    if len(pcm) < _WINDOW:
        return np.zeros((0, BANDS), np.float32)
    windows = np.lib.stride_tricks.sliding_window_view(pcm, _WINDOW)[::HOP]
    power = np.square(np.abs(np.fft.rfft(windows * _TAPER, axis=1)), dtype=np.float32)
    loudness = np.log(power @ _FILTERS + _FLOOR)
    loud = np.square(windows).mean(axis=1, keepdims=True) > _QUIET**2
    found: Spectra = np.where(loud, loudness - loudness.mean(axis=1, keepdims=True), 0.0)
    return found.astype(np.float32)


def _filters() -> npt.NDArray[np.float32]:
    """Triangles of equal width on the mel scale: float32, (bins of the spectrum, bands)."""
    lowest, highest = (1127 * np.log1p(hz / 700) for hz in (_LOWEST_HZ, _HIGHEST_HZ))
    edges_hz = 700 * np.expm1(np.linspace(lowest, highest, BANDS + 2) / 1127)
    bins_hz = np.fft.rfftfreq(_WINDOW, 1 / SAMPLE_RATE_HZ)[:, None]
    left, middle, right = edges_hz[:-2], edges_hz[1:-1], edges_hz[2:]
    rising, falling = (bins_hz - left) / (middle - left), (right - bins_hz) / (right - middle)
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    filters: npt.NDArray[np.float32] = (triangles / triangles.sum(axis=0) / _WINDOW).astype(
        np.float32
    )
    return filters


_TAPER: Final = np.hanning(_WINDOW).astype(np.float32)
_FILTERS: Final = _filters()
