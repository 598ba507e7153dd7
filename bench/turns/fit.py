"""Fits the scorer's weights and its threshold on the tuned part of the recorded set."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.turns.replay import READ_DELAY_S, follow, ours
from bench.turns.trace import Trace
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import (
    Evidence,
    LogisticScorer,
    Weights,
    log_length,
    sound_log_odds,
    tone_counts,
)
from voice_agent.turns.speech_activity import RATE_HZ
from voice_agent.turns.words import Ending

_PULL: Final = 1.0
"""Strength of the pull to 0 (L2): a kind of ending seen five times is not believed blindly."""
_STEPS: Final = 50
"""Newton steps; it is still after ten."""
_NEVER: Final = EndpointingSettings(threshold=1.0, hard_limit_s=1.05)
_END_MARGIN: Final = round(0.1 * RATE_HZ)
"""Our ear need not put the caller's last sound on the same sample as the set does."""
_THRESHOLDS: Final = np.linspace(0.30, 0.99, 139)

_Rows = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Moment:
    """A look at a silence, from which the turn may be taken."""

    position: int
    speech_end: int
    evidence: Evidence


def fit_weights(traces: Sequence[Trace]) -> Weights:
    """Logistic regression over every look in every silence of the utterances."""
    rows, ends, shares = _observations(traces)
    weights = np.zeros(rows.shape[1])
    pull = np.eye(rows.shape[1]) * _PULL
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        gradient = rows.T @ (shares * (chance - ends)) + pull @ weights
        curvature = (rows.T * (shares * chance * (1 - chance))) @ rows + pull
        weights -= np.linalg.solve(curvature, gradient)
    kinds = dict(zip(Ending, weights[: len(Ending)].round(2).tolist(), strict=True))
    return Weights(kinds, *weights[len(Ending) :].round(2).tolist())


def tune_threshold(
    traces: Sequence[Trace], weights: Weights, limits: EndpointingSettings, cut_off_rate: float
) -> float:
    """The lowest threshold that cuts off no more than a share of the utterances.

    Args:
        traces: the utterances.
        weights: of the scorer.
        limits: when a turn is over whatever the score; the threshold in it does not count.
        cut_off_rate: the share, in [0, 1].
    """

    def is_enough(threshold: float) -> bool:
        rule = ours(LogisticScorer(weights), replace(limits, threshold=float(threshold)))
        return sum(rule(trace).cut_off for trace in traces) <= cut_off_rate * len(traces)

    lowest = bisect_left(_THRESHOLDS[:-1], True, key=is_enough)
    return round(float(_THRESHOLDS[lowest]), 3)


class _Collector:
    """A scorer that is never sure and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[Evidence] = []

    def score(self, evidence: Evidence) -> float:
        self.shown.append(evidence)
        return 0.0


def _moments(trace: Trace) -> list[_Moment]:
    found: list[_Moment] = []
    collector = _Collector()
    endpointer = Endpointer(collector, lambda: _NEVER, "en")
    for position in follow(trace, endpointer, READ_DELAY_S):
        collector.shown.clear()
        endpointer.is_over()
        found += [_Moment(position, endpointer.speech_end, shown) for shown in collector.shown]
    return found


def _observations(traces: Sequence[Trace]) -> tuple[_Rows, _Rows, _Rows]:
    """Features (rows, columns), whether the turn was over (rows,), and the weight of each row.

    A silence weighs the same however often it was looked at.
    """
    rows: list[list[float]] = []
    ends: list[float] = []
    shares: list[float] = []
    for trace in traces:
        by_silence: dict[int, list[Evidence]] = {}
        for moment in _moments(trace):
            by_silence.setdefault(moment.speech_end, []).append(moment.evidence)
        for speech_end, seen in by_silence.items():
            rows += [_features(evidence) for evidence in seen]
            ends += [float(speech_end >= trace.end - _END_MARGIN)] * len(seen)
            shares += [1 / len(seen)] * len(seen)
    return np.array(rows), np.array(ends), np.array(shares)


def _features(evidence: Evidence) -> list[float]:
    kinds = [float(evidence.ending is kind) for kind in Ending]
    tone = evidence.tone if tone_counts(evidence.ending) else None
    voice = (0.0, 0.0, 0.0) if tone is None else (1.0, tone.pitch, tone.fade_db)
    length = log_length(evidence.speech_s)
    return [*kinds, sound_log_odds(evidence.sound), evidence.silence_s, *voice, length]
