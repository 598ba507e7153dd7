import json
import math
from dataclasses import replace

import pytest

from bench.percentiles import Percentiles
from bench.server_load import Load
from bench.stt.alone import Alone
from bench.stt.report import Report, limits
from bench.stt.rounds import Round
from bench.stt.word_errors import difference
from tests.unit.bench.measured import IDLE, measured


def report(*rounds: Round) -> Report:
    names = {result.system: "a server" for result in rounds}
    return Report({"engine": "whisper", "model": "tiny"}, 0.5, names, list(rounds))


def test_the_summary_compares_like_with_like() -> None:
    summary = report(
        measured("parley", 8, 0.2),
        measured("parley", 16, 0.9),
        measured("parley-finals", 8, 0.2),
        measured("parley-finals", 16, 0.3),
        measured("per-request-1x2", 2, 0.3),
        measured("per-request-1x2", 4, 0.8),
        measured("per-request-2x1", 2, 0.3),
        measured("per-request-2x1", 4, 0.4),
        measured("per-request-2x1", 8, 0.9),
    ).summary()
    assert summary["streams_ratio_vs_per_request"] == 4.0
    assert summary["ratio_of"] == "parley-finals to per-request-2x1"
    assert summary["streams_sustained"] == 8
    assert summary["final_p95_s"] == 0.2
    assert summary["limit_found"] is True
    assert summary["streams_sustained_by_bound"]["per-request-1x2"]["0.3"] == 2
    assert summary["ratio_is_lower_bound"] is True


def test_without_peers_there_is_no_ratio() -> None:
    summary = report(measured("parley", 2, 0.2)).summary()
    assert summary["streams_ratio_vs_per_request"] is None
    assert summary["streams_sustained"] == 2


def test_a_peer_that_does_not_keep_the_bound_is_compared_at_the_next_that_it_keeps() -> None:
    rounds = [measured("parley", 2, 0.2), measured("parley", 4, 0.8), measured("parley", 8, 1.2)]
    summary = report(*rounds, measured("per-request-1x2", 1, 0.9)).summary()
    assert summary["streams_sustained"] == 2
    assert summary["ratio_bound_s"] == 1.0
    assert summary["streams_ratio_vs_per_request"] == 4.0


def test_a_peer_that_keeps_no_bound_makes_no_ratio() -> None:
    summary = report(measured("parley", 2, 0.2), measured("per-request-1x2", 1, 9.9)).summary()
    assert summary["streams_ratio_vs_per_request"] is None


def test_where_nothing_was_sustained_no_latency_is_claimed() -> None:
    summary = report(measured("parley", 1, 0.9)).summary()
    assert summary["streams_sustained"] == 0
    assert summary["final_p95_s"] is None


def test_the_difference_of_word_error_rates_is_in_points() -> None:
    summary = report(
        measured("parley", 1, 0.1, against_offline=(("a", 50, 1), ("b", 50, 0))),
        measured("parley-finals", 2, 0.1, against_offline=(("a", 50, 1), ("c", 50, -1))),
        measured("parley", 4, 0.9, against_offline=(("a", 50, 40),)),
        measured("per-request-1x2", 1, 0.1, against_offline=(("a", 50, 40),)),
    ).summary()
    assert summary["wer_delta_under_load"] == pytest.approx(0.5)
    assert summary["wer_words_under_load"] == 200
    assert summary["wer_delta_under_load_margin"] == pytest.approx(100 * 1.96 * 5**0.5 / 200)


def test_what_one_caller_met_is_the_headline_of_the_words() -> None:
    found = report()
    assert found.summary()["wer_delta"] is None
    found.alone = Alone(
        2, Percentiles(0.001, 0.002, 0.003), 0.1, 0.08, difference((("a", 50, 1), ("b", 50, 1)))
    )
    summary = found.summary()
    assert summary["wer_delta"] == pytest.approx(2.0)
    assert summary["wer_words"] == 100
    assert summary["reused_final_p95_s"] == 0.002


def test_it_is_json_without_infinities() -> None:
    never = replace(
        measured("parley", 2, 0.1, lost=2), final_s=Percentiles(0.1, math.inf, math.inf)
    )
    text = json.dumps(report(never).to_json(), allow_nan=False)
    (row,) = json.loads(text)["rounds"]
    assert row["final_s"] == {"p50": 0.1, "p95": None, "p99": None}
    assert row["within_bound"] is False
    assert row["cost_per_stream_cores"] == 0.05


def test_a_late_load_generator_is_told() -> None:
    assert report(measured("parley", 4, 0.1)).doubts() == []
    (doubt,) = report(measured("parley", 64, 0.1, lateness_s=0.05)).doubts()
    assert "64 streams" in doubt


@pytest.mark.parametrize(
    ("load", "what"),
    [
        (IDLE, []),
        (replace(IDLE, engine_busy=0.9), ["engine 90 % busy"]),
        (Load(1.2, 0.95, (0.25,), 1), ["event loop 95 % of a core"]),
        (Load(1.8, 0.5, (1.3,), 1), ["1.9 of 2 cores (load generator 0.1)"]),
    ],
)
def test_what_is_in_full_use_is_named(load: Load, what: list[str]) -> None:
    assert limits(measured("parley", 8, 0.9, load=load), cores=2) == what
