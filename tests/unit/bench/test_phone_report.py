"""What a run of the telephone bench says of itself."""

import json
import math

import pytest

from bench.phone.leftovers import Held
from bench.phone.records import BROWSER, PHONE, Listened, Step
from bench.phone.report import Report
from bench.phone.tables import ladder_table, path_table, series_table
from tests.unit.bench.phoned import call, measured, turn

PROMISED = {
    "setup_p50_s",
    "setup_p95_s",
    "voice_to_voice_p50_s",
    "voice_to_voice_p95_s",
    "browser_voice_to_voice_p50_s",
    "browser_voice_to_voice_p95_s",
    "difference_p50_s",
    "word_error_rate",
    "browser_word_error_rate",
    "calls_in_a_row_lost_rtp_packets",
    "calls_at_once",
    "first_glitch_at_calls",
}


def test_the_summary_holds_its_keys_also_when_nothing_was_measured() -> None:
    summary = Report({}).summary()
    assert summary.keys() >= PROMISED
    assert {summary[key] for key in PROMISED} == {None}
    assert not Report({}).measured


def test_both_paths_stand_beside_each_other() -> None:
    summary = measured().summary()
    assert summary["voice_to_voice_p50_s"] == 0.7
    assert summary["browser_voice_to_voice_p50_s"] == 0.44
    assert summary["difference_p50_s"] == pytest.approx(0.26)
    # of the same words: a turn that was cut off on one path has no pair
    assert summary["difference_of_pairs_p50_s"] == pytest.approx(0.05)
    assert (summary["cut_off"], summary["browser_cut_off"]) == (0, 1)


def test_a_lost_turn_is_not_left_out_of_the_percentiles() -> None:
    summary = measured().to_json()["summary"]
    assert measured().summary()["voice_to_voice_p95_s"] == math.inf
    assert summary["voice_to_voice_p95_s"] is None
    json.dumps(measured().to_json(), allow_nan=False)


def test_words_are_compared_in_points() -> None:
    summary = measured().summary()
    assert summary["word_error_rate"] == pytest.approx(1 / 8)
    assert summary["browser_word_error_rate"] == 0
    assert summary["word_error_points"] == pytest.approx(12.5)
    assert (summary["words"], summary["all_turns_words"]) == (8, 12)


@pytest.mark.parametrize(
    ("said", "understood"),
    [
        ("Okay, goodbye.", "OK, good-bye."),
        ("My number is five five five oh one two.", "My number is 555-012."),
    ],
)
def test_another_spelling_is_no_error(said: str, understood: str) -> None:
    report = Report({})
    report.turns = [turn(said=said, understood=understood)]
    assert report.summary()["word_error_rate"] == 0


def test_set_up_is_that_of_calls_that_had_the_stack_to_themselves() -> None:
    summary = measured().summary()
    assert summary["setup_calls"] == 3
    assert (summary["setup_p50_s"], summary["setup_p95_s"]) == (0.9, 1.0)
    assert summary["answer_p50_s"] == pytest.approx(0.6)


def test_packets_are_lost_both_ways() -> None:
    summary = measured().summary()
    # two that the telephone missed, and one of each call that livekit-sip did
    assert summary["calls_in_a_row_lost_rtp_packets"] == 4
    assert summary["calls_in_a_row_rtp_packets"] == 2 * 990
    assert summary["calls_in_a_row_left_files"] == 1
    assert (summary["calls_at_once"], summary["calls_at_once_failed"]) == (2, 1)


def test_the_first_glitch_is_that_of_a_step_that_was_never_clean() -> None:
    report = measured()
    assert report.first_glitch_at_calls == 2
    report.steps.append(Step(2, [Listened(call(), 0.5)]))
    assert report.first_glitch_at_calls is None
    assert report.summary()["clean_up_to_calls"] == 2


def test_less_than_before_is_nothing_left() -> None:
    before = Held(rooms=1, processes=9, files=70, ports=3)
    assert Held(0, 9, 68, 3).beyond(before).nothing
    assert Held(1, 10, 68, 5).beyond(before) == Held(0, 1, 0, 2)


def test_doubts_name_what_casts_them() -> None:
    report = measured()
    report.conditions["load_average_before"] = (7.5, 1.0, 1.0)
    report.turns.append(turn(BROWSER, late_s=0.1))
    report.calls.append(call(failure="the agent hung up"))
    others, late, broken = report.doubts()
    assert "7.5" in others
    assert "browser: in 1 of 4 turns" in late
    assert "1 of 2 telephone calls: the agent hung up" in broken


def test_tables_show_every_path_series_and_step() -> None:
    report = measured()
    assert list(path_table(report).columns[0].cells) == [PHONE, BROWSER]
    assert list(series_table(report).columns[0].cells) == ["in a row", "at once"]
    steps = ladder_table(report)
    assert [row.style for row in steps.rows] == [None, "red", "red"]
    assert list(steps.columns[5].cells) == ["0", "1", "1"]
