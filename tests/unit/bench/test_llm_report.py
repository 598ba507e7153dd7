import json
from pathlib import Path

import pytest

from bench.llm.asking import Answer
from bench.llm.plan import FULL, QUICK, parse_callers
from bench.llm.plot import draw
from bench.llm.prompts import sample, turns, words, words_for
from bench.llm.report import Load, Report
from bench.llm.tables import load_table, prompt_table
from bench.options import BadOption


def answer(ttft_s: float, cached: int = 0, gaps_s: tuple[float, ...] = (0.01, 0.03)) -> Answer:
    return Answer(ttft_s, gaps_s, 1000, cached, len(gaps_s) + 1)


def whole_report() -> Report:
    report = Report({"prompt_tokens": 1000, "server": "ours"})
    report.cold = [answer(1.0), answer(2.0), answer(3.0)]
    report.cached = [answer(0.1, 990), answer(0.2, 980), answer(0.3, 970)]
    report.under_pressure = {"kept": [answer(0.4, 900)], "left alone": [answer(2.0, 0)]}
    alone = Load.of(1, [answer(0.1, 990)], 0, 2.0)
    report.loads = [alone, Load.of(8, [answer(0.5, 900)] * 3, 2, 3.0)]
    return report


def test_the_summary_of_a_whole_run() -> None:
    summary = whole_report().summary()
    assert summary["prefix_cached_share"] == pytest.approx(0.98)
    assert summary["ttft_cached_ratio"] == pytest.approx(0.1)
    assert summary["prefix_cached_share_under_pressure"] == 0.9
    assert summary["ttft_cached_ratio_under_pressure"] == pytest.approx(0.2)
    assert summary["prefix_cached_share_under_pressure_not_kept"] == 0.0
    assert summary["ttft_cached_ratio_under_pressure_not_kept"] == pytest.approx(1.0)
    assert (summary["inter_token_p50_s"], summary["inter_token_p99_s"]) == (0.01, 0.03)
    assert summary["callers_most"] == 8
    assert summary["jitter_most_callers_s"] == pytest.approx(0.02)
    assert summary["cached_share_most_callers"] == 0.9


def test_what_was_not_measured_is_null() -> None:
    report = Report({"prompt_tokens": 1000})
    assert not report.measured
    assert set(report.summary().values()) == {None}


def test_a_load() -> None:
    load = Load.of(8, [answer(0.5), answer(0.7)], 2, 3.0)
    assert (load.answers, load.refused, load.tokens_per_s) == (2, 2, 2.0)
    assert load.ttft_s is not None
    assert load.ttft_s.p95 == 0.7
    nobody = Load.of(8, [], 8, 3.0)
    assert (nobody.ttft_s, nobody.jitter_s, nobody.cached_share) == (None, None, None)


def test_it_can_be_written_shown_and_drawn(tmp_path: Path) -> None:
    report = whole_report()
    assert json.loads(json.dumps(report.to_json()))["loads"][1]["callers"] == 8
    assert prompt_table(report).row_count == 4
    assert load_table(report).row_count == 2
    draw(report, tmp_path / "x.png")
    assert (tmp_path / "x.png").stat().st_size > 1000


def test_prompts_differ_from_their_first_words_on() -> None:
    one, two = words(100, "a"), words(100, "b")
    assert one[:12] != two[:12]
    assert one == words(100, "a")
    assert len(set(turns(5, "a"))) == 5


def test_prompts_get_the_length_that_was_asked_for() -> None:
    assert words_for(3000, 3000) == 1500
    assert words_for(1, 10**6) == 1
    assert len(sample().split()) == 1502


@pytest.mark.parametrize("text", ["", "0", "2,1", "1,1", "1,2000", "a", "1.5"])
def test_callers_that_make_no_sense(text: str) -> None:
    with pytest.raises(BadOption, match="--callers"):
        parse_callers(text)


def test_plans() -> None:
    assert parse_callers("1,4,8") == (1, 4, 8)
    changed = QUICK.changed(prompt_tokens=500, callers=(2,))
    assert (changed.prompt_tokens, changed.callers) == (500, (2,))
    assert FULL.changed(prompt_tokens=None, callers=None) == FULL
