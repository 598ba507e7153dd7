"""Change of sample rate for a stream: state is kept between pieces, and almost nothing held back.

A streaming soxr resampler works in blocks and holds back up to 37 ms from 24 kHz and up to 118 ms
from 8 kHz (soxr 1.1, measured with 20 ms pieces). That is more than the silence after which a
turn is decoded ahead of its end, so this one is a plain polyphase filter with a delay of 1.5 ms.
"""

from functools import lru_cache
from math import gcd
from typing import Final

import numpy as np
import numpy.typing as npt

from speech_server.audio.pcm import PcmFloat

_HALF_WIDTH: Final = 24
"""Zero crossings of the filter on each side, at the lower of the two rates."""
_CUTOFF: Final = 0.90
"""Middle of the transition band as a share of the lower Nyquist frequency."""
_KAISER_BETA: Final = 8.0
"""About 80 dB of stop-band attenuation. Source: Kaiser's design formula."""


@lru_cache(maxsize=32)
def _filter_bank(up: int, down: int) -> npt.NDArray[np.float32]:
    """Windowed-sinc taps for each of `up` phases: float32, (up, taps), each row sums to 1."""
    scale = min(1.0, up / down) * _CUTOFF
    half_taps = int(np.ceil(_HALF_WIDTH * max(1.0, down / up)))
    offsets = np.arange(-half_taps + 1, half_taps + 1, dtype=np.float64)
    distance = offsets[None, :] - (np.arange(up) / up)[:, None]
    inside = np.clip(1.0 - (distance / half_taps) ** 2, 0.0, None)
    taps = np.sinc(distance * scale) * np.i0(_KAISER_BETA * np.sqrt(inside))
    bank: npt.NDArray[np.float32] = (taps / taps.sum(axis=1, keepdims=True)).astype(np.float32)
    return bank


class StreamResampler:
    """Resamples mono float32 piece by piece; passes pieces through where the rates are equal.

    Output sample n is the input at time n / out_rate_hz: nothing is shifted, whatever the pieces.

    Args:
        in_rate_hz: rate of the pieces pushed.
        out_rate_hz: rate of the pieces returned.
    """

    def __init__(self, in_rate_hz: int, out_rate_hz: int) -> None:
        common = gcd(in_rate_hz, out_rate_hz)
        self._up = out_rate_hz // common
        self._down = in_rate_hz // common
        self._bank = _filter_bank(self._up, self._down)
        self._half_taps = self._bank.shape[1] // 2
        self._reset()

    def _reset(self) -> None:
        # The filter reaches back before the first sample: silence stands there.
        self._held: PcmFloat = np.zeros(self._half_taps - 1, dtype=np.float32)
        self._phase = 0  # of the next output sample, in 1 / (in_rate * up) from _held's first

    def push(self, pcm: PcmFloat) -> PcmFloat:
        """Resample the next piece.

        Args:
            pcm: float32, (samples,), at the input rate; any length.

        Returns:
            float32, (samples,), at the output rate; may be empty.
        """
        if self._up == self._down:
            return pcm
        held = np.concatenate((self._held, pcm))
        taps = self._bank.shape[1]
        room = (len(held) - taps + 1) * self._up - self._phase
        if room <= 0:
            self._held = held
            return np.zeros(0, dtype=np.float32)
        steps = self._phase + np.arange(-(-room // self._down)) * self._down
        windows = np.lib.stride_tricks.sliding_window_view(held, taps)[steps // self._up]
        resampled: PcmFloat = np.einsum("ij,ij->i", windows, self._bank[steps % self._up])
        consumed, self._phase = divmod(int(steps[-1]) + self._down, self._up)
        # A large step down may end beyond what has arrived; the rest is skipped when it comes.
        keep_from = min(consumed, len(held))
        self._phase += (consumed - keep_from) * self._up
        self._held = held[keep_from:].copy()
        return resampled

    def flush(self) -> PcmFloat:
        """Return what the filter holds back and begin afresh."""
        if self._up == self._down:
            return np.zeros(0, dtype=np.float32)
        tail = self.push(np.zeros(self._half_taps, dtype=np.float32))
        self._reset()
        return tail
