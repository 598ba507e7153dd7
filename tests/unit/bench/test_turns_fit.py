from dataclasses import replace

from bench.turns.fit import fit_weights, tune_threshold
from bench.turns.replay import ours
from bench.turns.trace import Trace
from tests.unit.bench.test_turns_replay import trace
from voice_agent.turns.endpointer import EndpointingSettings
from voice_agent.turns.scorer import LogisticScorer, Weights
from voice_agent.turns.words import Ending

LIMITS = EndpointingSettings(threshold=0.0, hard_limit_s=1.0)


def cut_off(heard: list[Trace], weights: Weights, threshold: float) -> int:
    rule = ours(LogisticScorer(weights), replace(LIMITS, threshold=threshold))
    return sum(rule(one).cut_off for one in heard)


def with_looks(before: Trace, in_pauses: float, at_the_end: float) -> Trace:
    looks = {at: at_the_end if at > before.end else in_pauses for at in before.looks}
    return replace(before, looks=looks)


def test_what_tells_ends_from_pauses_gets_weight() -> None:
    heard = [with_looks(trace(0.2 + 0.05 * n), 0.2, 0.8) for n in range(12)]
    weights = fit_weights(heard)
    assert weights.sound > 0.3
    assert weights.ending[Ending.QUESTION] > weights.ending[Ending.UNMARKED]


def with_words(before: Trace, text: str) -> Trace:
    return replace(before, readings=tuple(replace(read, text=text) for read in before.readings))


def test_the_threshold_keeps_to_the_rate_of_cut_offs() -> None:
    heard = [
        with_looks(with_words(trace(0.2 + 0.05 * n), "When do you open?"), 0.45, 0.55)
        for n in range(12)
    ]
    weights = fit_weights(heard)
    strict = tune_threshold(heard, weights, LIMITS, 0.0)
    loose = tune_threshold(heard, weights, LIMITS, 0.5)
    assert cut_off(heard, weights, strict) == 0
    assert 0 < cut_off(heard, weights, loose) <= 6
    assert loose < strict
