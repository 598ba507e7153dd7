"""Faster or slower speech at the same pitch, for voices that have one rate only."""

from collections.abc import Iterator
from typing import Final

import av
import numpy as np
from av.filter import Graph

from speech_server.tts.engine import Pcm16

_SLOWEST: Final = 0.5
"""What one `atempo` filter can do. Source: ffmpeg's documentation."""
_EMPTY: Pcm16 = np.zeros(0, dtype=np.int16)


class TempoChanger:
    """Changes the tempo of one segment piece by piece.

    Args:
        sample_rate_hz: rate of the audio.
        speed: 1.0 leaves it as it is; 0.25 to 4.0.
    """

    def __init__(self, sample_rate_hz: int, speed: float) -> None:
        self._rate_hz = sample_rate_hz
        self._graph = None if speed == 1.0 else _graph(sample_rate_hz, speed)
        self._pushed = 0

    def push(self, pcm: Pcm16) -> Pcm16:
        """Take the next piece.

        Args:
            pcm: int16, (samples,).

        Returns:
            int16, (samples,): what is ready; may be empty.
        """
        if self._graph is None or not len(pcm):
            return pcm
        frame = av.AudioFrame.from_ndarray(pcm.reshape(1, -1), format="s16", layout="mono")
        frame.sample_rate = self._rate_hz
        frame.pts = self._pushed
        self._pushed += len(pcm)
        self._graph.push(frame)
        return _joined(self._pulled())

    def finish(self) -> Pcm16:
        """The rest.

        Returns:
            int16, (samples,).
        """
        if self._graph is None or not self._pushed:
            return _EMPTY
        self._graph.push(None)
        return _joined(self._pulled())

    def _pulled(self) -> Iterator[Pcm16]:
        assert self._graph is not None
        while True:
            try:
                frame = self._graph.pull()
            except (av.error.BlockingIOError, av.error.EOFError):
                return
            assert isinstance(frame, av.AudioFrame)
            yield frame.to_ndarray().reshape(-1).astype(np.int16)


def _graph(sample_rate_hz: int, speed: float) -> Graph:
    graph = Graph()
    last = graph.add_abuffer(format="s16", sample_rate=sample_rate_hz, layout="mono")
    steps = [_SLOWEST, speed / _SLOWEST] if speed < _SLOWEST else [speed]
    for step in steps:
        tempo = graph.add("atempo", f"{step:.6f}")
        last.link_to(tempo)
        last = tempo
    last.link_to(graph.add("abuffersink"))
    graph.configure()
    return graph


def _joined(pieces: Iterator[Pcm16]) -> Pcm16:
    return np.concatenate([_EMPTY, *pieces])
