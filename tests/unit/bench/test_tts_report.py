import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.cells import WIDTH
from bench.percentiles import Percentiles
from bench.tts.engine_tokens import TokenCounts
from bench.tts.report import OUR_CODE_VOICE, OURS, REFERENCE, Report
from bench.tts.rounds import Round
from bench.tts.served import Alone
from bench.tts.tables import cost_table, heard_table
from tests.unit.bench.spoken_texts import QUIET, heard

FAST = Percentiles(0.05, 0.08, 0.09)


def report(*rounds: Round) -> Report:
    systems = {result.system: "a voice" for result in rounds}
    return Report({"engine": "flite"}, 0.5, systems, list(rounds))


def test_the_summary_tells_of_the_highest_load_that_was_kept() -> None:
    rounds = [heard(OURS, 1, 0.1), heard(OURS, 2, 0.2), heard(OURS, 4, 0.3, gaps=2)]
    summary = report(*rounds).summary()
    assert summary["replies_per_s_sustained"] == 2
    assert summary["streams_sustained"] == 7.0
    assert summary["audible_p95_s"] == 0.2
    assert summary["limit_found"]


def test_voices_on_the_same_tokens_need_leave_no_gap_and_may_be_slow() -> None:
    rounds = [
        heard(OUR_CODE_VOICE, 1, 0.7),
        heard(OUR_CODE_VOICE, 8, 0.8),
        heard(REFERENCE, 1, 0.9),
        heard(REFERENCE, 8, 0.9, gaps=1),
    ]
    summary = report(*rounds).summary()
    assert summary["parley_codes_streams_sustained"] == 8
    assert summary["reference_codes_streams_sustained"] == 1
    assert summary["reference_codes_audible_p50_s"] == 0.45
    assert summary["streams_sustained"] == 0.0


def test_what_was_measured_is_in_the_summary() -> None:
    found = report()
    found.codec = {"summary": {"max_stream_error": 0.0, "frames_lost": 0}}
    found.tokens = {"scripted": TokenCounts(14, 42, 0)}
    found.alone = {"tokens": Alone(3, FAST, FAST, FAST)}
    found.leads_s = {"slt": [0.01, 0.02], "kal": [0.03]}
    found.tiny_leads_s = [0.02]
    summary = found.summary()
    assert (summary["max_stream_error"], summary["frames_lost"]) == (0.0, 0)
    assert (summary["tokens_before_first_audio"], summary["tokens_after_cancel"]) == (14, 0)
    assert summary["tokens_counted_with"] == "scripted"
    assert summary["audible_alone_tokens_p95_s"] == 0.08
    found.tokens["vllm"] = TokenCounts(14, None, 2)
    assert found.summary()["tokens_counted_with"] == "vllm"
    assert found.summary()["tokens_after_cancel"] == 2
    assert found.summary()["tokens_before_first_sound"] == 42
    assert summary["leading_silence_p95_s"] == 0.03
    assert summary["leading_silence_tiny_voice_p95_s"] == 0.02


def test_what_was_not_measured_is_null() -> None:
    summary = report().summary()
    for key in ("max_stream_error", "tokens_after_cancel", "audible_p95_s"):
        assert summary[key] is None


def test_the_json_knows_no_infinity() -> None:
    never = replace(QUIET, audible_s=Percentiles(0.1, math.inf, math.inf))
    text = json.dumps(report(never).to_json(), allow_nan=False)
    (row,) = json.loads(text)["rounds"]
    assert row["audible_s"] == {"p50": 0.1, "p95": None, "p99": None}
    assert not row["within_bound"]


def test_a_busy_client_casts_doubt() -> None:
    late = replace(QUIET, client_lateness_p99_s=0.05, step=4.0)
    assert report(QUIET).doubts() == []
    assert report(QUIET, late).doubts() == [
        "the load generator itself was late: 4 replies per second on parley"
    ]


def test_the_tables_have_a_row_for_each_round_and_fit() -> None:
    rounds = [heard(OURS, 0.5, 0.1), heard(REFERENCE, 64, 0.5, gaps=2), heard(OURS, 2, math.inf)]
    console = Console(width=WIDTH, record=True, file=io.StringIO())
    for table in (heard_table(report(*rounds)), cost_table(report(*rounds))):
        console.print(table)
    text = console.export_text()
    assert text.count(OURS) >= 4
    assert text.count(REFERENCE) == 2
    assert "…" not in text
    assert "0.5/s" in text


def test_the_plot_is_written(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from bench.tts.plot import draw

    rounds = [heard(OURS, 1, 0.1), heard(OURS, 2, 0.3, gaps=1), heard(REFERENCE, 1, 0.4)]
    draw(report(*rounds), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000
