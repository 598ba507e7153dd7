import json
import math

import pytest

from bench.call.caller import Backchannel, Interruption
from bench.call.engines import REAL, SIMULATED
from bench.call.report import Report, Tally
from bench.call.sayings import UNFINISHED
from bench.call.tables import cost_table, kind_table, turn_table
from bench.call.worker_cost import Cost
from bench.percentiles import Percentiles
from tests.unit.bench.called import turn

PROMISED = {
    "voice_to_voice_p50_s",
    "voice_to_voice_p95_s",
    "ratio_p50_vs_stock",
    "ratio_p95_vs_stock",
    "false_cutoff_rate",
    "stock_false_cutoff_rate",
    "barge_in_stop_p95_s",
}


def report(ours: Tally | None = None, stock: Tally | None = None) -> Report:
    made = Report({})
    for tally in (ours, stock):
        if tally is not None:
            made.tallies[tally.engines, tally.wiring] = tally
    return made


def ours(**fields: object) -> Tally:
    return Tally(REAL.name, "parley", **fields)  # type: ignore[arg-type]


def stock(**fields: object) -> Tally:
    return Tally(REAL.name, "stock", **fields)  # type: ignore[arg-type]


def test_the_summary_holds_its_keys_also_when_nothing_was_measured() -> None:
    summary = report().summary()
    assert summary.keys() >= PROMISED
    assert {summary[key] for key in PROMISED} == {None}
    assert not report().measured


def test_ratios_are_ours_by_stock() -> None:
    summary = report(
        ours(turns=[turn(0.2), turn(0.4), turn(0.6)]), stock(turns=[turn(0.4), turn(0.8)])
    ).summary()
    assert summary["voice_to_voice_p50_s"] == 0.4
    assert summary["voice_to_voice_p95_s"] == 0.6
    assert summary["ratio_p50_vs_stock"] == pytest.approx(0.4 / 0.4)
    assert summary["ratio_p95_vs_stock"] == pytest.approx(0.6 / 0.8)


def test_a_turn_that_was_cut_off_or_left_unfinished_gives_no_latency() -> None:
    tally = ours(turns=[turn(0.3), turn(None, cut_off=True), turn(1.2, kind=UNFINISHED)])
    assert tally.latencies_s() == [0.3]
    assert tally.unfinished_s == Percentiles(1.2, 1.2, 1.2)


def test_a_lost_turn_is_not_left_out_of_the_percentiles() -> None:
    made = report(ours(turns=[turn(0.3), turn(math.inf)]))
    assert made.summary()["voice_to_voice_p95_s"] == math.inf
    assert made.summary()["lost_turn_rate"] == 0.5
    # JSON knows no infinity
    assert made.to_json()["summary"]["voice_to_voice_p95_s"] is None
    json.dumps(made.to_json(), allow_nan=False)


def test_a_false_cutoff_is_heard_or_decided() -> None:
    rates = ours(
        turns=[
            turn(),
            turn(None, cut_off=True, committed_early=True),
            turn(committed_early=True, user_turns=2),
            turn(2.5),
        ]
    ).rates()
    assert rates["false_cutoff_rate"] == 0.5
    assert rates["audible_cutoff_rate"] == 0.25
    assert rates["split_turn_rate"] == 0.25
    assert rates["dead_air_rate"] == pytest.approx(1 / 3)


def test_what_could_not_be_judged_is_left_out() -> None:
    tally = ours(
        interruptions=[Interruption("slt", 0.2), Interruption("slt", None)],
        backchannels=[
            Backchannel("slt", "Mhm.", 0.3, break_s=0.5, kept_answer=True),
            Backchannel("slt", "Mhm.", 0.3, break_s=0.9, kept_answer=True),
            Backchannel("slt", "Mhm.", 0.3, break_s=0.5, kept_answer=False),
            Backchannel("slt", "Mhm.", 0.3, break_s=None, kept_answer=None),
        ],
    )
    assert tally.barge_in_stop_s == Percentiles(0.2, 0.2, 0.2)
    assert tally.rates()["backchannels_ignored_rate"] == pytest.approx(1 / 3)
    assert tally.rates()["backchannels_survived_rate"] == pytest.approx(2 / 3)
    assert tally.backchannel_break_s == Percentiles(0.5, 0.9, 0.9)


def test_an_agent_that_did_not_stop_shows_in_the_percentile() -> None:
    made = report(ours(interruptions=[Interruption("slt", 0.2), Interruption("slt", math.inf)]))
    assert made.summary()["barge_in_stop_p95_s"] == math.inf


def test_what_was_never_tuned_on_is_told_apart() -> None:
    summary = report(
        ours(turns=[turn(0.3), turn(0.5, part="held_out", committed_early=True)])
    ).summary()
    assert summary["held_out_voice_to_voice_p50_s"] == 0.5
    assert summary["held_out_false_cutoff_rate"] == 1.0
    assert summary["tuned_false_cutoff_rate"] == 0.0


def test_simulated_figures_carry_the_word() -> None:
    made = report(ours(turns=[turn(0.5)]))
    made.tallies[SIMULATED.name, "parley"] = Tally(SIMULATED.name, "parley", turns=[turn(0.3)])
    summary = made.summary()
    assert summary["voice_to_voice_p50_s"] == 0.5
    assert summary["simulated_voice_to_voice_p50_s"] == 0.3
    assert [row["simulated"] for row in made.to_json()["wirings"]] == [False, True]
    shown = [str(cell) for column in turn_table(made).columns for cell in column.cells]
    assert "SIMULATED" in shown


def test_doubts_name_what_casts_them() -> None:
    made = report(ours(turns=[turn(late_s=0.1)], calls=2, failures=["nobody answered"]))
    made.costs.append(cost(16, machine_busy=0.99))
    made.conditions["load_average_before"] = (7.5, 1.0, 1.0)
    others, late, broken, full = made.doubts()
    assert "7.5" in others
    assert "1 of 1 turns" in late
    assert "nobody answered" in broken
    assert "16 calls" in full


def test_costs_are_by_calls_at_once() -> None:
    made = report()
    made.costs = [cost(1), cost(4)]
    assert made.summary()["worker_cores_per_call_at_4"] == 0.1
    assert [row["saturated"] for row in made.to_json()["worker_cost"]] == [False, False]
    assert cost_table(made).row_count == 2


def test_every_kind_and_part_has_a_row() -> None:
    table = kind_table(report(ours(turns=[turn(), turn(kind="hesitation", part="held_out")])))
    assert list(table.columns[2].cells) == ["complete", "hesitation", "tuned", "held_out"]


def cost(calls: int, machine_busy: float = 0.5) -> Cost:
    return Cost(
        calls=calls,
        cpu_cores_per_call=0.1,
        pss_bytes_per_call=2**27,
        machine_busy=machine_busy,
        caller_cores=0.2,
        voice_to_voice_s=None,
        turns=0,
        failed_calls=0,
    )
