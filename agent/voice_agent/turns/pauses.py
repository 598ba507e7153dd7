"""How long this caller pauses inside a turn, learned while they speak."""

from typing import Final

TYPICAL_PAUSE_S: Final = 0.4
"""What is assumed before the first pause, seconds. Source: the middle of the pauses of the recorded
set (`bench/turns`), 0.2 to 0.9 s."""
_SHORTEST_S: Final = 0.15
"""Shorter silences are gaps between and inside words. Source: gaps of 0.12 s occur in a word."""
_LONGEST_S: Final = 1.5
"""One long silence says little about the next."""
_MEMORY: Final = 0.7
"""Share of the old estimate kept at each pause: the last three or four count."""


class CallerPauses:
    """The running mean of one caller's pauses."""

    def __init__(self) -> None:
        self._usual_s = TYPICAL_PAUSE_S

    @property
    def usual_s(self) -> float:
        """How long a pause of this caller is, seconds."""
        return self._usual_s

    def went_on_after(self, silence_s: float) -> None:
        """The caller was silent for so long and then went on with the same turn."""
        if silence_s >= _SHORTEST_S:
            pause_s = min(silence_s, _LONGEST_S)
            self._usual_s = _MEMORY * self._usual_s + (1 - _MEMORY) * pause_s
