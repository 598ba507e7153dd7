"""Who said what in which turn, from the agent's transcription streams. Pure."""

from dataclasses import dataclass
from enum import StrEnum


class Speaker(StrEnum):
    """A side of the call."""

    CALLER = "caller"
    AGENT = "agent"


GREETING_TURN = 0
"""Turn number of what is said before the caller's first turn."""


@dataclass
class _Segment:
    speaker: Speaker
    turn: int
    text: str
    final: bool


class Transcript:
    """Collects segments; a segment belongs to the turn in which it was first seen."""

    def __init__(self) -> None:
        self._segments: dict[str, _Segment] = {}
        self._turn = GREETING_TURN

    def begin_turn(self, turn: int) -> None:
        """New segments belong to `turn` from now on."""
        self._turn = turn

    def update(self, segment_id: str, speaker: Speaker, text: str, *, final: bool) -> None:
        """Set a segment's text so far; a final text is never replaced by an interim one."""
        segment = self._segments.setdefault(
            segment_id, _Segment(speaker, self._turn, text="", final=False)
        )
        if segment.final and not final:
            return
        segment.text = text
        segment.final = final

    def words(self, speaker: Speaker, turn: int) -> str:
        """Everything that `speaker` said in `turn`, in the order in which it began."""
        return " ".join(
            words
            for segment in self._segments.values()
            if segment.speaker is speaker
            and segment.turn == turn
            and (words := " ".join(segment.text.split()))
        )
