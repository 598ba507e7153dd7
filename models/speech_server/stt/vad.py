"""Voice activity: how likely it is that a window of 32 ms holds speech."""

from functools import cache
from importlib.metadata import files
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

WINDOW_SAMPLES: Final = 512
"""Samples in one window at 16 kHz. Source: Silero VAD v6 takes no other length."""

_CONTEXT_SAMPLES: Final = 64
"""The model reads a window together with this much audio before it. Source: Silero VAD v6."""
_STATE_SHAPE: Final = (2, 1, 128)
"""Hidden and cell state of the model's recurrent layer. Source: Silero VAD v6."""
_QUIET_PEAK: Final = 1e-3
"""A window that never exceeds this (-60 dBFS) is silent without asking the model."""
_DISTRIBUTION: Final = "livekit-plugins-silero"
_FILE: Final = "silero_vad.onnx"
"""The agent's VAD plugin carries the model; its file is used here, none of its code."""


class VoiceActivity(Protocol):
    """Judges the windows of one stream, in order."""

    def probability(self, window: Pcm) -> float:
        """Probability in [0, 1] that the window holds speech.

        Args:
            window: float32, (512,), 16 kHz.
        """
        ...


@cache
def load_silero() -> "InferenceSession":
    """The model that all streams share, loaded on first use.

    Raises:
        FileNotFoundError: the installation lacks the model's file.
    """
    # Not above: ONNX Runtime reads when it is imported what our settings tell it.
    from onnxruntime import InferenceSession, SessionOptions

    path = next((file for file in files(_DISTRIBUTION) or () if file.name == _FILE), None)
    if path is None:
        raise FileNotFoundError(f"{_FILE} is missing: reinstall {_DISTRIBUTION}")
    options = SessionOptions()
    # A window is too little work to share: more threads only wake and wait.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return InferenceSession(
        str(path.locate()), sess_options=options, providers=["CPUExecutionProvider"]
    )


class SileroVoiceActivity:
    """Silero VAD v6; about 0.1 ms a window on one core, none for a muted line."""

    def __init__(self) -> None:
        self._model = load_silero()
        self._state = np.zeros(_STATE_SHAPE, np.float32)
        self._input = np.zeros((1, _CONTEXT_SAMPLES + WINDOW_SAMPLES), np.float32)
        self._rate_hz = np.array(SAMPLE_RATE_HZ, np.int64)

    def probability(self, window: Pcm) -> float:
        """See `VoiceActivity.probability`."""
        audio = self._input
        audio[0, :_CONTEXT_SAMPLES] = audio[0, -_CONTEXT_SAMPLES:]
        audio[0, _CONTEXT_SAMPLES:] = window
        if float(np.abs(window).max()) < _QUIET_PEAK:
            return 0.0
        feeds = {"input": audio, "state": self._state, "sr": self._rate_hz}
        probability, self._state = self._model.run(None, feeds)
        return float(probability[0, 0])
