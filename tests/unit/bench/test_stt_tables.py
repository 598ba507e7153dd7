import io
from pathlib import Path

import pytest
from rich.console import Console

from bench.cells import WIDTH
from bench.stt.report import Report
from bench.stt.tables import cost_table, latency_table
from tests.unit.bench.measured import measured

REPORT = Report(
    {"engine": "whisper", "model": "tiny"},
    0.5,
    {"parley": "ours", "per-request-1x2": "theirs"},
    [
        measured("parley", 1, 0.123, wer=0.05, offline_wer=0.04),
        measured("parley", 128, 0.9, lost=3, lateness_s=0.1),
        measured("per-request-1x2", 1, float("inf")),
    ],
)


def shown(*tables: object) -> str:
    page = io.StringIO()
    console = Console(file=page, width=WIDTH, force_terminal=False)
    console.print(*tables)
    return page.getvalue()


def test_every_round_has_its_row() -> None:
    page = shown(latency_table(REPORT))
    assert "123" in page
    assert "5.0" in page
    assert "per-request-1x2" in page
    assert all(len(line.rstrip()) <= WIDTH for line in page.splitlines())


def test_nothing_is_cut_off() -> None:
    assert "…" not in shown(latency_table(REPORT), cost_table(REPORT))


def test_a_late_load_generator_is_marked() -> None:
    assert "late" in shown(cost_table(REPORT))


def test_it_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from bench.stt.plot import draw

    draw(REPORT, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
