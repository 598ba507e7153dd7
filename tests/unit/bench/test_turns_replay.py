import numpy as np
import pytest

from bench.turns.evaluation import evaluate
from bench.turns.recorded_set import Utterance
from bench.turns.render import Pause
from bench.turns.replay import fixed_silence, framework, ours
from bench.turns.script import Kind
from bench.turns.trace import Reading, Trace
from tests.unit.voice_agent.turns.listening import Line, windows
from voice_agent.turns.endpointer import EndpointingSettings
from voice_agent.turns.scorer import Evidence
from voice_agent.turns.words import Ending

SETTINGS = EndpointingSettings(threshold=0.5, hard_limit_s=1.0)


class ByWords:
    def score(self, evidence: Evidence) -> float:
        return float(evidence.ending is Ending.QUESTION)


def trace(pause_s: float, look: float = 0.1, *, text: str = "When do you open?") -> Trace:
    """One second of speech with a pause in its middle, and silence."""
    line = Line()
    heard = [*line.silence(10), *line.speech(16)]
    pause_start = line.position
    heard += line.silence(windows(pause_s))
    pause_end = line.position
    readings = [Reading(pause_start + 1024, "When do")]
    heard += line.speech(16)
    end = line.position
    readings.append(Reading(end + 1024, text))
    heard += line.silence(windows(2.8))
    looks = {window.position: look for window in heard if not window.speech}
    return Trace(tuple(heard), looks, tuple(readings), ((pause_start, pause_end),), end)


def test_ours_takes_the_turn_when_its_words_are_there() -> None:
    outcome = ours(ByWords(), SETTINGS, read_delay_s=0.1)(trace(0.6))
    assert not outcome.cut_off
    assert outcome.delay_s == pytest.approx(0.064 + 0.1, abs=0.033)


def test_ours_cuts_off_whoever_pauses_beyond_its_limit() -> None:
    assert ours(ByWords(), SETTINGS)(trace(1.2)).cut_off
    assert not ours(ByWords(), SETTINGS)(trace(0.9)).cut_off


def test_a_fixed_silence_cuts_off_in_every_longer_pause() -> None:
    assert fixed_silence(0.5)(trace(0.6)).cut_off
    outcome = fixed_silence(0.5)(trace(0.3))
    assert not outcome.cut_off
    assert outcome.delay_s == pytest.approx(0.5)


def test_the_frameworks_no_costs_its_longest_delay() -> None:
    outcome = framework(min_delay_s=0.3, max_delay_s=2.5)(trace(0.8, look=0.1))
    assert outcome.delay_s == pytest.approx(2.58)


def test_the_frameworks_yes_is_bound_by_its_vad_and_its_floor() -> None:
    assert framework(0.3, 2.5)(trace(0.3, look=0.9)).delay_s == pytest.approx(0.38)
    assert framework(0.0, 1.0)(trace(0.3, look=0.9)).delay_s == pytest.approx(0.361)
    assert framework(0.3, 2.5)(trace(0.6, look=0.9)).cut_off


def test_cut_offs_and_delays_are_counted_apart() -> None:
    def said(kind: Kind) -> Utterance:
        pcm = np.zeros(1, np.int16)
        return Utterance("", "tuned", kind, "", "", (1,), (Pause(0.0, 1.0),), 1.0, 40.0, pcm)

    turns = [
        (said("hesitation"), trace(0.6)),
        (said("hesitation"), trace(0.3)),
        (said("trailing"), trace(0.3)),
    ]
    result = evaluate("half a second", fixed_silence(0.5), "tuned", turns)
    assert (result.turns, result.cut_off, result.pauses_turns) == (3, 1, 3)
    assert result.cut_off_by_kind == {"hesitation": 1}
    assert result.delay_p50_s == result.trailing_p50_s == pytest.approx(0.5)
