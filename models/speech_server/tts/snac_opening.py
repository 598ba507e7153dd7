"""How far a segment's opening is: which of its frames are heard, and whether they can be started.

A voice's first sound begins anywhere within a frame, and the silence before it is cut. What is left
of that frame may be played before the next one can be there.
"""

from typing import Final

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, SAMPLE_RATE_HZ
from speech_server.tts.silence import AUDIBLE_LEVEL
from speech_server.tts.speech_edges import EDGE_S

_AUDIBLE: Final = AUDIBLE_LEVEL / 32_768
_EDGE_SAMPLES: Final = round(EDGE_S * SAMPLE_RATE_HZ)
"""The first samples of a segment click; that is not its first sound."""
_NEARLY: Final = FRAME_SAMPLES // 4
"""Samples that may be silent in a frame that is heard whole, 21 ms: `SpeechEdges` keeps about as
much before the first sound."""


class Opening:
    """Follows the first frames of one segment.

    Args:
        speed: frames that come in the time that a frame lasts.
    """

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._first = True
        self._sounds = False
        """Whether the last frames had sound."""
        self.heard = 0
        """Frames so far that are heard for their whole length."""

    def take(self, pcm: PcmFloat) -> bool:
        """Take the next frames.

        Args:
            pcm: float32, (samples,), of one frame or more.

        Returns:
            Whether sound begins in them that ends before the next frame can be there.
        """
        audible = _audible_samples(pcm[_EDGE_SAMPLES:] if self._first else pcm)
        begins = audible > 0 and not self._sounds
        whole = audible + _NEARLY if begins else len(pcm)
        self.heard += whole // FRAME_SAMPLES if audible else 0
        self._first, self._sounds = False, audible > 0
        return begins and audible * self._speed < FRAME_SAMPLES


def _audible_samples(pcm: PcmFloat) -> int:
    """Samples from the first audible one on."""
    audible = np.flatnonzero(np.abs(pcm) >= _AUDIBLE)
    return len(pcm) - int(audible[0]) if audible.size else 0
