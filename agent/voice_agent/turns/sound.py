"""What the sound of the last moments says about the end of a turn.

The model is the one inside LiveKit Agents (`turn-detector-v1-mini`), which its licence allows only
there; the framework asks it once for a pause, here it may be asked again while the pause lasts.
"""

from typing import Final, Protocol

import numpy as np
import numpy.typing as npt
from livekit.local_inference import EOT, EOT_MAX_SAMPLES

SOUND_SAMPLES: Final[int] = EOT_MAX_SAMPLES
"""Most audio that is looked at: 1.2 s at 16 kHz."""

Pcm16 = npt.NDArray[np.int16]


class SoundModel(Protocol):
    """Judges the end of a stretch of audio; called in a thread, also by several calls at once."""

    def probability(self, pcm: Pcm16) -> float:
        """Probability in [0, 1] that the speaker is done.

        Args:
            pcm: int16, (samples,), 16 kHz, at most `SOUND_SAMPLES`, up to now.
        """
        ...


class BundledSoundModel:
    """`turn-detector-v1-mini`: 50 ms of processor time for each look, in threads of its own."""

    def __init__(self) -> None:
        self._model = EOT()

    def probability(self, pcm: Pcm16) -> float:
        """See `SoundModel.probability`."""
        return float(self._model.predict(pcm))
