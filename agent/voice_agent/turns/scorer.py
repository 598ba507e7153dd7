"""How likely it is that a caller is done: one small, replaceable piece.

Sound, tone, words, length and silence each move the log-odds, and they add up (a logistic model).
The weights were fitted on the tuned part of the recorded set, with `python -m bench.turns --fit`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from voice_agent.turns.pauses import TYPICAL_PAUSE_S
from voice_agent.turns.tone import Tone
from voice_agent.turns.words import Ending

_PATIENCE: Final = 2.0
"""Log-odds for each second by which this caller's pauses are longer than is typical. Reasoned, not
fitted: the recorded set has no callers, only voices."""
_MOST_PATIENCE: Final = 1.0
"""Log-odds by which a caller's pauses count at most, either way."""
_LENGTHS_S: Final = (1.0, 4.0)
"""Turns shorter or longer than these are not told apart by their length, seconds: below are short
answers, and far above it more length says no more."""
_TONE_COUNTS: Final = frozenset(
    (Ending.UNMARKED, Ending.OPENING, Ending.STATEMENT, Ending.ANSWER, Ending.UNKNOWN)
)
_SURE: Final = 0.01
"""The sound model's opinion is kept this far from 0 and 1."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known in a pause of the caller."""

    silence_s: float
    """Length of the pause so far, seconds."""
    sound: float | None
    """Probability in [0, 1] that the turn is over by its sound; None: not known yet."""
    ending: Ending
    """How the words end."""
    tone: Tone | None = None
    """How the voice ended; None: too little was heard of it."""
    usual_pause_s: float = TYPICAL_PAUSE_S
    """How long this caller's pauses are, seconds."""
    speech_s: float = 0.0
    """From the turn's first sound to its last, seconds."""


class EndScorer(Protocol):
    """Scores the evidence; knows no clock and no audio."""

    def score(self, evidence: Evidence) -> float:
        """Probability in [0, 1] that the turn is over."""
        ...


@dataclass(frozen=True, slots=True)
class Weights:
    """Log-odds."""

    ending: Mapping[Ending, float]
    """Of each way in which words can end."""
    sound: float
    """For each unit of the log-odds of the sound model."""
    silence: float
    """For each second of silence."""
    tone: float
    """Where the tone of the voice is known, to begin with."""
    pitch: float
    """For each semitone above the bottom of the caller's range."""
    fade: float
    """For each dB by which the voice faded."""
    length: float
    """For each factor of e by which the turn is longer than a second."""


class LogisticScorer:
    """Adds the log-odds of the evidence up.

    Args:
        weights: of the parts.
    """

    def __init__(self, weights: Weights) -> None:
        self._weights = weights

    def score(self, evidence: Evidence) -> float:
        """See `EndScorer.score`."""
        weights = self._weights
        longer_s = evidence.usual_pause_s - TYPICAL_PAUSE_S
        patience = min(max(_PATIENCE * longer_s, -_MOST_PATIENCE), _MOST_PATIENCE)
        log_odds = (
            weights.ending.get(evidence.ending, 0.0)
            + weights.length * log_length(evidence.speech_s)
            + weights.sound * sound_log_odds(evidence.sound)
            + weights.silence * evidence.silence_s
            - patience
        )
        if evidence.tone is not None and tone_counts(evidence.ending):
            log_odds += (
                weights.tone
                + weights.pitch * evidence.tone.pitch
                + weights.fade * evidence.tone.fade_db
            )
        return 1 / (1 + math.exp(-log_odds))


def tone_counts(ending: Ending) -> bool:
    """Whether the tone of voice says anything: a question rises, an open clause is open."""
    return ending in _TONE_COUNTS


def log_length(speech_s: float) -> float:
    """Natural logarithm of a turn's length in seconds, within what is told apart."""
    shortest_s, longest_s = _LENGTHS_S
    return math.log(min(max(speech_s, shortest_s), longest_s))


def sound_log_odds(sound: float | None) -> float:
    """The sound model's opinion as log-odds; 0 where there is none."""
    if sound is None:
        return 0.0
    kept = min(max(sound, _SURE), 1 - _SURE)
    return math.log(kept / (1 - kept))
