"""The arithmetic at the ear, on tracks whose truth is known to the sample."""

import math

import pytest

from bench.call.track import (
    break_s,
    hear_turn,
    kept_answer,
    longest_break_s,
    stopped_after_s,
)
from tests.unit.bench.called import hear

SAMPLE_S = 2e-4
"""A few samples: a loud sample that happens to be quiet, a frame's worth of level."""
GREETING = (0.0, 1.0)
BEGAN_S, ENDED_S = 3.0, 6.0
"""The caller speaks between these, with a pause from 4.0 to 4.8."""


def test_voice_to_voice_runs_from_the_last_sample_to_the_first_one() -> None:
    sounds = hear(GREETING, (6.3456, 8.0))
    states = [(0.0, "speaking"), (1.0, "listening"), (6.2, "thinking"), (6.3, "speaking")]
    heard = hear_turn(sounds, states, BEGAN_S, ENDED_S)
    assert heard.voice_to_voice_s == pytest.approx(0.3456, abs=SAMPLE_S)
    assert (heard.cut_off, heard.committed_early, heard.lost) == (False, False, False)


def test_an_agent_heard_inside_a_pause_cut_the_caller_off() -> None:
    sounds = hear(GREETING, (4.5, 5.0), (6.5, 8.0))
    heard = hear_turn(sounds, [(4.4, "thinking"), (4.45, "speaking")], BEGAN_S, ENDED_S)
    assert heard.cut_off
    assert heard.voice_to_voice_s is None
    assert not heard.lost


def test_an_agent_that_speaks_on_past_the_callers_end_has_answered() -> None:
    heard = hear_turn(hear((4.5, 7.0)), [], BEGAN_S, ENDED_S)
    assert heard.cut_off
    assert heard.voice_to_voice_s is None


def test_a_turn_taken_for_over_inside_a_pause_counts_although_nothing_was_heard() -> None:
    sounds = hear(GREETING, (6.4, 8.0))
    heard = hear_turn(sounds, [(4.6, "thinking"), (5.0, "listening")], BEGAN_S, ENDED_S)
    assert heard.committed_early
    assert not heard.cut_off
    assert heard.voice_to_voice_s == pytest.approx(0.4, abs=SAMPLE_S)


@pytest.mark.parametrize("spans", [[GREETING], [GREETING, (4.5, 5.0)]])
def test_a_turn_without_an_answer_is_lost(spans: list[tuple[float, float]]) -> None:
    heard = hear_turn(hear(*spans), [], BEGAN_S, ENDED_S)
    assert heard.lost
    assert heard.voice_to_voice_s == math.inf


def test_barge_in_is_timed_from_the_interruptions_first_sample() -> None:
    # the long answer is cut at 10.18; what begins at 11.4 answers the interruption
    sounds = hear((6.0, 10.18), (11.4, 15.0))
    stopped_s = stopped_after_s(sounds, onset_s=10.0, ended_s=11.0)
    assert stopped_s == pytest.approx(0.18, abs=SAMPLE_S)


def test_an_answer_that_comes_back_during_the_interruption_has_not_stopped() -> None:
    # paused as a false interruption, resumed, then stopped at last
    sounds = hear((6.0, 10.2), (10.6, 10.9), (11.5, 15.0))
    stopped_s = stopped_after_s(sounds, onset_s=10.0, ended_s=11.0)
    assert stopped_s == pytest.approx(0.9, abs=SAMPLE_S)


def test_an_agent_that_talks_over_the_caller_never_stops() -> None:
    assert stopped_after_s(hear((6.0, 15.0)), onset_s=10.0, ended_s=11.0) == math.inf


def test_nothing_can_be_said_of_an_interruption_in_the_agents_own_pause() -> None:
    sounds = hear((6.0, 9.9), (10.2, 10.4), (11.5, 12.0))
    assert stopped_after_s(sounds, onset_s=10.0, ended_s=11.0) is None
    assert break_s(sounds, onset_s=10.0, until_s=12.0) is None
    assert kept_answer(sounds, [], onset_s=10.0, until_s=12.0) is None


def test_the_break_that_a_hum_made_is_the_longest_one() -> None:
    sounds = hear((6.0, 10.2), (10.8, 11.2), (11.4, 15.0))
    assert break_s(sounds, onset_s=10.0, until_s=12.0) == pytest.approx(0.6, abs=SAMPLE_S)


def test_an_answer_that_goes_on_after_a_break_was_kept() -> None:
    sounds = hear((6.0, 10.2), (11.2, 15.0))
    states = [(10.2, "listening"), (11.1, "speaking")]
    assert kept_answer(sounds, states, onset_s=10.0, until_s=12.0) is True


@pytest.mark.parametrize(
    ("spans", "states"),
    [
        ([(6.0, 10.2)], [(10.2, "listening")]),  # silent ever after
        ([(6.0, 10.2), (11.2, 15.0)], [(10.9, "thinking")]),  # another answer
    ],
)
def test_an_answer_that_ends_or_is_replaced_was_not_kept(
    spans: list[tuple[float, float]], states: list[tuple[float, str]]
) -> None:
    assert kept_answer(hear(*spans), states, onset_s=10.0, until_s=12.0) is False


@pytest.mark.parametrize(
    ("spans", "longest_s"),
    [
        ([(0.0, 20.0)], 0.0),
        ([(0.0, 11.0)], 1.0),  # silent at the end
        ([(11.5, 20.0)], 1.5),  # silent at the beginning
        ([(0.0, 10.5), (10.8, 20.0)], 0.3),
        ([(0.0, 5.0), (15.0, 20.0)], 2.0),  # nothing at all
    ],
)
def test_the_longest_break(spans: list[tuple[float, float]], longest_s: float) -> None:
    assert longest_break_s(hear(*spans), 10.0, 12.0) == pytest.approx(longest_s, abs=SAMPLE_S)
