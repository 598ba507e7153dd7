"""A caller's audio at the rate that speech models take, with next to nothing held back."""

from typing import Final

import av
import numpy as np
from livekit import rtc

MODEL_RATE_HZ: Final = 16_000
"""Rate that speech models take."""

_LAYOUTS: Final = {1: "mono", 2: "stereo"}


class ModelRateResampler:
    """Brings frames to `MODEL_RATE_HZ`, mono; frames that are so already pass through.

    The base class of streams would do it too, with a resampler that works in blocks: from 24 kHz in
    frames of 20 ms it holds back 5 to 38 ms, 21 on average (`rtc.AudioResampler` of livekit 1.1.21,
    whatever its quality but the lowest, measured). Every answer would come so much later, and so
    would every interruption. This one holds back 1 ms.
    """

    def __init__(self) -> None:
        self._resampler: av.AudioResampler | None = None

    def push(self, frame: rtc.AudioFrame) -> bytes:
        """Take the next frame.

        Args:
            frame: int16, one or two channels, any rate; all frames alike.

        Returns:
            int16 in the machine's order, mono, `MODEL_RATE_HZ`; may be empty.

        Raises:
            ValueError: more than two channels.
        """
        if frame.sample_rate == MODEL_RATE_HZ and frame.num_channels == 1:
            return bytes(frame.data)
        layout = _LAYOUTS.get(frame.num_channels)
        if layout is None:
            raise ValueError(f"audio of {frame.num_channels} channels; give one or two")
        if self._resampler is None:
            self._resampler = av.AudioResampler(format="s16", layout="mono", rate=MODEL_RATE_HZ)
        interleaved = np.frombuffer(frame.data, np.int16)[None, :]
        given = av.AudioFrame.from_ndarray(interleaved, format="s16", layout=layout)
        given.sample_rate = frame.sample_rate
        return b"".join(taken.to_ndarray().tobytes() for taken in self._resampler.resample(given))
