"""The page of benchmarks says what the results say."""

import importlib
import json
import math
from pathlib import Path
from types import ModuleType

import pytest

from bench.call.caller import Backchannel, Interruption
from bench.call.engines import REAL, SIMULATED
from bench.call.report import Report
from bench.call.sayings import UNFINISHED
from bench.call.worker_cost import Cost
from bench.percentiles import Percentiles
from tests.unit.bench.called import turn

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("benchmark_tables")


def write(folder: Path, name: str, report: Report) -> None:
    (folder / f"{name}.json").write_text(json.dumps(report.to_json(), allow_nan=False))


def compared() -> Report:
    """Both wirings; one turn of ours was lost, and the agent never stopped for one interruption."""
    report = Report({"load_average_before": (0.2, 0.1, 0.1)})
    ours = report.tally(REAL.name, "parley")
    ours.turns = [turn(0.3), turn(math.inf, part="held_out"), turn(1.5, kind=UNFINISHED)]
    ours.interruptions = [Interruption("slt", 0.15), Interruption("slt", math.inf)]
    ours.backchannels = [Backchannel("slt", "Mhm.", 0.3, break_s=0.5, kept_answer=True)]
    report.tally(REAL.name, "stock").turns = [turn(0.6), turn(0.9)]
    report.tally(SIMULATED.name, "parley").turns = [turn(0.25)]
    return report


def cost(calls: int, machine_busy: float) -> Cost:
    return Cost(
        calls=calls,
        cpu_cores_per_call=0.125,
        pss_bytes_per_call=100 * 2**20,
        machine_busy=machine_busy,
        caller_cores=0.2,
        voice_to_voice_s=Percentiles(0.4, 0.8, 0.8),
        turns=7,
        failed_calls=1,
    )


def test_the_page_is_fresh(tables: ModuleType) -> None:
    page = tables.PAGE.read_text(encoding="utf-8")
    assert tables.replaced(page) == page, "run `make fix`"


def test_check_fails_when_the_page_is_behind(
    tables: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "benchmarks.md"
    fresh = tables.PAGE.read_text(encoding="utf-8")
    page.write_text(fresh.replace("| held out |", "| new |", 1), encoding="utf-8")
    monkeypatch.setattr(tables, "PAGE", page)
    with pytest.raises(SystemExit, match="behind"):
        tables.main(["--check"])
    tables.main([])
    assert page.read_text(encoding="utf-8") == fresh
    tables.main(["--check"])


def test_what_was_not_measured_is_said(tables: ModuleType, tmp_path: Path) -> None:
    assert tables.render("call-cpu", tmp_path).startswith("Not measured yet")


def test_both_wirings_at_the_ear(tables: ModuleType, tmp_path: Path) -> None:
    write(tmp_path, "call-cpu", compared())
    shown = tables.render("call-cpu", tmp_path)
    assert "load average before: 0.2" in shown
    # two of three turns count; one of those was lost, and an infinite time is no blank
    row = (
        "| parley | 3 | 300 | never | 0.0 | 0.0 | 0.0 | 33.3 | 150 | never | 100.0 | 100.0 | 500 |"
    )
    assert row in shown
    assert "| stock | 2 | 600 | 900 |" in shown
    assert "| parley, SIMULATED engines | 1 | 250 | 250 |" in shown
    assert "| parley | held out | 1 | never | never |" in shown
    assert f"| parley | {UNFINISHED} | 1 | 1500 | 1500 |" in shown
    # half of the ratio is unknown, so none is claimed
    assert "Ours by stock" not in shown


def test_ratios_are_told_where_both_are_known(tables: ModuleType, tmp_path: Path) -> None:
    report = compared()
    report.tally(REAL.name, "parley").turns = [turn(0.3)]
    write(tmp_path, "call-cpu", report)
    shown = tables.render("call-cpu", tmp_path)
    assert "Ours by stock, p50 and p95: 0.50 and 0.33." in shown


def test_what_a_call_costs(tables: ModuleType, tmp_path: Path) -> None:
    report = Report({"load_average_before": (0.2, 0.1, 0.1)}, costs=[cost(1, 0.4), cost(8, 0.98)])
    write(tmp_path, "call-load", report)
    shown = tables.render("call-load", tmp_path)
    assert "| 1 | 0.125 | 100 | 400 | 800 | 7 | 1 | 40.0 | 0.20 |" in shown
    assert "| 98.0 (full) |" in shown
    assert "- Note: the machine, callers and engines included, was full at 8 calls" in shown


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"hardware": {}}'])
def test_a_file_that_is_no_result_is_named(tables: ModuleType, tmp_path: Path, text: str) -> None:
    (tmp_path / "soak.json").write_text(text)
    with pytest.raises(ValueError, match=r"soak\.json is not a result"):
        tables.render("soak", tmp_path)


def test_a_page_without_markers_is_refused(tables: ModuleType) -> None:
    with pytest.raises(ValueError, match="soak: begin"):
        tables.replaced("# Benchmarks\n")
