"""How long callers wait lately. Pure: time is passed in."""

from collections.abc import Hashable
from typing import Final

_WINDOW_S: Final = 10.0
_FEW: Final = 4
"""Fewer streams say nothing about the load."""
_QUANTILE: Final = 0.9


class RecentLatency:
    """Remembers the shortest wait of each stream in ten seconds.

    The shortest, because a stream that sends faster than real time waits for itself: that says
    nothing about how the others fare.
    """

    def __init__(self) -> None:
        self._shortest: dict[int, tuple[float, float]] = {}
        """By the stream's id: when it was seen first in this window, and its shortest wait."""

    def add(self, stream: Hashable, waited_s: float, now_s: float) -> None:
        """Remember one wait.

        Args:
            stream: whose it was.
            waited_s: its length, seconds.
            now_s: the clock at its end.
        """
        self._forget(now_s)
        since_s, shortest_s = self._shortest.get(id(stream), (now_s, waited_s))
        self._shortest[id(stream)] = (since_s, min(shortest_s, waited_s))

    def p90_s(self, now_s: float) -> float:
        """What nine of ten streams stay below, seconds; 0 when there are too few to tell.

        Args:
            now_s: the clock.
        """
        self._forget(now_s)
        if len(self._shortest) < _FEW:
            return 0.0
        waits = sorted(waited_s for _, waited_s in self._shortest.values())
        return waits[int(_QUANTILE * (len(waits) - 1))]

    def _forget(self, now_s: float) -> None:
        self._shortest = {
            stream: wait for stream, wait in self._shortest.items() if wait[0] >= now_s - _WINDOW_S
        }
