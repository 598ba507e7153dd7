"""What tests of turn-taking share: windows of speech and silence without a model."""

from collections.abc import Iterator

import numpy as np

from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Heard, Pcm16

LOUD = 3000


class ScriptedVoice:
    """A voice activity model that takes loud for speech."""

    def predict(self, pcm: Pcm16) -> float:
        return 0.9 if np.abs(pcm.astype(int)).max() >= LOUD else 0.05


def speech(windows: int) -> Pcm16:
    """Loud noise of so many whole windows."""
    signs = np.random.default_rng(1).choice((-1, 1), windows * WINDOW_SAMPLES)
    return (signs * LOUD).astype(np.int16)


def silence(windows: int) -> Pcm16:
    """A quiet line of so many whole windows."""
    noise = np.random.default_rng(2).normal(0.0, 6.0, windows * WINDOW_SAMPLES)
    return noise.astype(np.int16)


class Line:
    """The windows that an endpointer hears, one after the other."""

    def __init__(self) -> None:
        self._position = 0
        self._speech_end = 0
        self._open = False

    def speech(self, windows: int) -> Iterator[Heard]:
        for _ in range(windows):
            began = None if self._open else self._position
            self._open = True
            self._position += WINDOW_SAMPLES
            self._speech_end = self._position
            yield Heard(self._position, True, began, self._speech_end)

    def silence(self, windows: int) -> Iterator[Heard]:
        for _ in range(windows):
            self._position += WINDOW_SAMPLES
            yield Heard(self._position, False, None, self._speech_end)

    @property
    def position(self) -> int:
        return self._position


def windows(seconds: float) -> int:
    """Whole windows that last at least so long."""
    return -int(-seconds * RATE_HZ // WINDOW_SAMPLES)
