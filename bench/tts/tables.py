"""The rounds of a run as tables for people: what listeners meet, and what it costs."""

from collections.abc import Callable
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from bench.cells import ms, percent
from bench.percentiles import Percentiles
from bench.tts.report import Report
from bench.tts.rounds import Round

_HEARD: Final = (
    "load", "replies", "first byte p50", "p95", "audible p50", "p95", "p99", "silence p95",
    "under-runs", "longest gap", "lost",
)  # fmt: skip
_COST: Final = (
    "load", "at once", "peak", "audio s/s", "RTF p50", "p95", "engine RTF", "cores", "event loop",
    "engine busy %", "client",
)  # fmt: skip


def heard_table(report: Report) -> Table:
    """Times in milliseconds after the first text; red where a round was not kept."""
    title = f"Heard after the first text, ms (bound: audible p95 {1000 * report.bound_s:.0f})"
    return _table(report, title, _HEARD, _heard_cells)


def cost_table(report: Report) -> Table:
    """What was played at once, and what the server used, in processor cores."""
    return _table(report, "What it costs", _COST, _cost_cells)


def _table(
    report: Report, title: str, columns: tuple[str, ...], cells: Callable[[Round], list[str]]
) -> Table:
    table = Table(Column("voice", no_wrap=True), title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right")
    for result in sorted(report.rounds, key=lambda result: (result.system, result.step)):
        style = None if result.within(report.bound_of(result.system)) else "red"
        table.add_row(result.system, *cells(result), style=style)
    return table


def _heard_cells(result: Round) -> list[str]:
    return [
        _load(result),
        str(result.replies),
        *_ms(result.first_byte_s, "p50", "p95"),
        *_ms(result.audible_s, "p50", "p95", "p99"),
        *_ms(result.lead_s, "p95"),
        str(result.under_run_replies or ""),
        ms(result.longest_gap_s) if result.gaps else "",
        str(result.refused + result.failed or ""),
    ]


def _cost_cells(result: Round) -> list[str]:
    load, rtf = result.load, result.rtf
    return [
        _load(result),
        f"{result.streams_mean:.1f}",
        str(result.streams_peak),
        f"{result.audio_s_per_s:.1f}",
        f"{rtf.p50:.2f}" if rtf else "",
        f"{rtf.p95:.2f}" if rtf else "",
        f"{result.engine_rtf:.4f}" if result.engine_rtf else "",
        f"{load.cpu_cores:.2f}",
        f"{load.event_loop_cores:.2f}",
        percent(load.engine_busy),
        f"{result.client_cores:.2f}{' late' if result.client_saturated else ''}",
    ]


def _load(result: Round) -> str:
    return f"{result.step:g}{'/s' if result.load_kind == 'replies per second' else ''}"


def _ms(found: Percentiles | None, *names: str) -> list[str]:
    return [ms(getattr(found, name, None)) for name in names]
