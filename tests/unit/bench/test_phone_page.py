"""The telephone's section of the page of benchmarks."""

import importlib
import json
from pathlib import Path
from types import ModuleType

import pytest

from bench.phone.report import Report
from tests.unit.bench.phoned import measured, turn

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("benchmark_tables")


def shown(tables: ModuleType, folder: Path, report: Report) -> str:
    text = json.dumps(report.to_json(), allow_nan=False)
    (folder / "phone-cpu.json").write_text(text)
    return str(tables.render("phone-cpu", folder))


def test_a_whole_run_is_on_the_page(tables: ModuleType, tmp_path: Path) -> None:
    page = shown(tables, tmp_path, measured())
    assert "load average before: 0.2" in page
    # one of the telephone's turns was lost; the browser's third one was cut off
    assert "| telephone | 3 | 700 | never | 0 | 12.5 | 8.3 |" in page
    assert "| browser | 3 | 440 | 660 | 1 | 0.0 | 0.0 |" in page
    assert "260 ms between the medians, 50 ms in the median pair" in page
    assert "12.5 points of word error over 8 words of the conversation, 8.3 over all 12" in page
    assert "| one after another | 2 | 0 | 800 | 900 | 1980 | 4 | 0 | 0 | 1 | 0 |" in page
    assert "| at once | 2 | 1 | 1400 | 1400 |" in page
    assert "| 1 | yes | 500 | 0 | 0 | 0 | 0 |" in page
    assert page.count("| 2 | no |") == 2


def test_what_was_left_out_leaves_no_row(tables: ModuleType, tmp_path: Path) -> None:
    report = Report({"load_average_before": (0.2, 0.1, 0.1)})
    report.turns = [turn()]
    page = shown(tables, tmp_path, report)
    assert "| telephone | 1 | 500 | 500 | 0 | 0.0 | 0.0 |" in page
    assert "unknown points of word error" in page
    assert "| at once |" not in page
