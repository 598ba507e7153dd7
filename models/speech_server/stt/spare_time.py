"""How much of the engine's time goes to work that nobody waits for. Pure: time is passed in.

An engine call cannot be stopped once it runs, so whoever pauses meanwhile waits for its end. What
that costs the callers is bounded twice: by the length of such a call, and by how often one runs.
"""

from enum import Enum
from typing import Final

from speech_server.stt.engine import SAMPLE_RATE_HZ

_MEAN_WAIT_S: Final = 0.005
"""What interims may add to a final on average, seconds: their share of the engine's time, times
half the length of a call. Calls of 150 ms thus get 7 % of the time, calls of 30 ms a third."""
_LARGEST_SHARE: Final = 1 / 3
_LONGEST_INTERIM_S: Final = 0.15
_LONGEST_FILE_S: Final = 0.5
"""The most that a final waits for a call of that kind, seconds."""
_MEMORY: Final = 0.7
"""Share of the old estimate kept at each engine call."""


class Work(Enum):
    """Kinds of engine calls; each has a speed of its own."""

    URGENT = "urgent"
    """Somebody waits for it."""
    INTERIM = "interim"
    FILE = "file"


_LONGEST_S: Final = {Work.INTERIM: _LONGEST_INTERIM_S, Work.FILE: _LONGEST_FILE_S}


class SpareTime:
    """Learns how fast the engine is, and says when interims may run and how long a call may be."""

    def __init__(self) -> None:
        self._rtf: dict[Work, float] = {}
        self._interims_at = 0.0

    @property
    def interims_at(self) -> float:
        """When interims may run again, on the clock of `worked`."""
        return self._interims_at

    def expected_s(self, work: Work, samples: int) -> float:
        """How long a call should take, seconds; 0 as long as nothing is known.

        Args:
            work: its kind.
            samples: length of all its audio at 16 kHz.
        """
        # Urgent calls are always made: they tell when a machine that was slow is quick again.
        known = [self._rtf[kind] for kind in (work, Work.URGENT) if kind in self._rtf]
        return min(known, default=0.0) * samples / SAMPLE_RATE_HZ

    def fits(self, work: Work, samples: int) -> bool:
        """Whether a call of this length makes nobody wait too long.

        Args:
            work: its kind.
            samples: length of all its audio at 16 kHz.
        """
        longest_s = _LONGEST_S.get(work)
        return longest_s is None or self.expected_s(work, samples) <= longest_s

    def worked(self, work: Work, samples: int, took_s: float, now_s: float) -> None:
        """Learn from an engine call.

        Args:
            work: its kind.
            samples: length of all its audio at 16 kHz.
            took_s: how long it took, seconds.
            now_s: the clock at its end.
        """
        if samples:
            rtf = took_s * SAMPLE_RATE_HZ / samples
            known = self._rtf.get(work, rtf)
            self._rtf[work] = _MEMORY * known + (1 - _MEMORY) * rtf
        if work is Work.INTERIM and took_s > 0:
            share = min(_LARGEST_SHARE, 2 * _MEAN_WAIT_S / took_s)
            self._interims_at = now_s + took_s * (1 / share - 1)
