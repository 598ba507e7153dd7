"""What a caller heard, worked out from the sounds at the ear and the states that the agent told.

Pure: all moments are seconds on one clock, the one that frames were stamped with at the ear.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from voice_agent.caller.ear import Sound

ACTIVE_STATES: Final = frozenset({"thinking", "speaking"})
"""LiveKit's agent states once a turn has been committed.

Source: livekit-agents 1.8.9, voice/agent_activity.py: `thinking` is told when the answer is
scheduled; one that is only speculated is not.
"""
STILL_TALKING_S: Final = 1.0
"""An agent that is heard this long after an interruption has ended was not stopped by it."""
LONGEST_PAUSE_S: Final = 0.7
"""A longer silence in a long answer is not the answer's own: the bench's has none above 0.45 s."""

State = tuple[float, str]
"""When the agent told it, and LiveKit's name for it."""


@dataclass(frozen=True)
class Heard:
    """How one turn of the caller was answered."""

    voice_to_voice_s: float | None
    """Last audible sample of the caller's to the first one of the answer, seconds; None where the
    agent had cut the caller off, infinite where no answer came."""
    cut_off: bool
    """The agent was heard before the caller had ended."""
    committed_early: bool
    """The agent took the turn for over before the caller had ended, heard or not."""

    @property
    def lost(self) -> bool:
        """Whether nothing was heard after the caller's end."""
        return self.voice_to_voice_s == float("inf")


def hear_turn(
    sounds: Sequence[Sound], states: Sequence[State], began_s: float, ended_s: float
) -> Heard:
    """Measure one turn.

    Args:
        sounds: of the call so far.
        states: of the call so far.
        began_s: the caller's first sample was handed over; the agent was silent.
        ended_s: the caller's last audible sample was handed over.
    """
    cut_off = any(began_s <= sound.start_s < ended_s for sound in sounds)
    committed_early = any(
        state in ACTIVE_STATES and began_s <= told_s < ended_s for told_s, state in states
    )
    if cut_off:
        heard_after = any(sound.end_s > ended_s for sound in sounds)
        return Heard(None if heard_after else float("inf"), cut_off, committed_early)
    starts = [sound.start_s for sound in sounds if sound.start_s >= ended_s]
    return Heard(min(starts, default=float("inf")) - ended_s, cut_off, committed_early)


def talks_at(sounds: Sequence[Sound], moment_s: float) -> bool:
    """Whether the agent was being heard at a moment."""
    return any(sound.start_s <= moment_s <= sound.end_s for sound in sounds)


def stopped_after_s(sounds: Sequence[Sound], onset_s: float, ended_s: float) -> float | None:
    """How long the agent was still heard once the caller had begun to interrupt.

    Args:
        sounds: of the call so far, until `STILL_TALKING_S` after `ended_s` or later.
        onset_s: the interruption's first audible sample was handed over.
        ended_s: its last one.

    Returns:
        Seconds; infinite where the agent did not stop; None where it was in a pause of its own
        when the interruption began, so that there was nothing to stop.
    """
    if not talks_at(sounds, onset_s):
        return None
    # what begins after the interruption has ended is the answer to it
    stopped_s = max(sound.end_s for sound in sounds if sound.start_s < ended_s)
    return float("inf") if stopped_s > ended_s + STILL_TALKING_S else stopped_s - onset_s


def break_s(sounds: Sequence[Sound], onset_s: float, until_s: float) -> float | None:
    """How long a back-channel silenced the agent at worst, seconds.

    Args:
        sounds: of the call so far.
        onset_s: the back-channel's first audible sample was handed over.
        until_s: until when the agent is watched; it has more to say then.

    Returns:
        None where the agent was in a pause of its own when the back-channel began.
    """
    return longest_break_s(sounds, onset_s, until_s) if talks_at(sounds, onset_s) else None


def kept_answer(
    sounds: Sequence[Sound], states: Sequence[State], onset_s: float, until_s: float
) -> bool | None:
    """Whether the same answer went on after a back-channel, at once or after a break.

    Args:
        sounds: of the call so far.
        states: of the call so far.
        onset_s: the back-channel's first audible sample was handed over.
        until_s: until when the agent is watched.

    Returns:
        None where the agent was in a pause of its own when the back-channel began.
    """
    if not talks_at(sounds, onset_s):
        return None
    answered = any(onset_s <= told_s < until_s and state == "thinking" for told_s, state in states)
    return not answered and any(sound.end_s > until_s - LONGEST_PAUSE_S for sound in sounds)


def longest_break_s(sounds: Sequence[Sound], from_s: float, until_s: float) -> float:
    """Longest time in which nothing was heard, seconds."""
    longest_s, silent_since_s = 0.0, from_s
    for sound in sounds:
        if sound.end_s > from_s and sound.start_s < until_s:
            longest_s = max(longest_s, sound.start_s - silent_since_s)
            silent_since_s = sound.end_s
    return max(longest_s, until_s - silent_since_s)
