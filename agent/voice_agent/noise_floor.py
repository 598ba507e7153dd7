"""How loud a line is when nobody speaks.

Source of the method: Martin 2001, "Noise power spectral density estimation based on optimal
smoothing and minimum statistics": speech has gaps, so the quietest moments are the noise.
"""

from collections import deque
from typing import Final

import numpy as np
import numpy.typing as npt

_WINDOW_BLOCKS: Final = 5
"""Blocks whose mean is one moment: 50 ms, which is about as long as the mouth is shut for a p."""
_MEMORY_WINDOWS: Final = 60
"""Moments among which the quietest is looked for: 3 s, in which every speaker has such gaps."""


class NoiseFloor:
    """Follows one line, 10 ms at a time."""

    def __init__(self) -> None:
        self._powers: list[float] = []
        self._windows: deque[float] = deque(maxlen=_MEMORY_WINDOWS)

    @property
    def rms(self) -> float:
        """Root mean square of the noise, int16; 0 as long as nothing is known."""
        return float(np.sqrt(min(self._windows, default=0.0)))

    def hear(self, block: npt.NDArray[np.int16]) -> None:
        """Take the next 10 ms: int16, (samples,), any rate."""
        self._powers.append(float(np.mean(block.astype(np.float32) ** 2)))
        if len(self._powers) == _WINDOW_BLOCKS:
            self._windows.append(sum(self._powers) / _WINDOW_BLOCKS)
            self._powers.clear()
