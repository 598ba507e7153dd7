"""The rounds of a run as tables for people: what callers meet, and what it costs."""

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from bench.cells import ms, percent
from bench.stt.report import Report
from bench.stt.rounds import Round

_LATENCY: Final = (
    "streams", "finals", "p50", "p95", "p99", "p95 after Finalize", "interims/s", "interim p95",
    "WER %", "offline %", "lost",
)  # fmt: skip
_COST: Final = (
    "streams", "cores", "per stream", "event loop", "busiest other", "engine busy %", "engine RTF",
    "decodes per final", "batch mean", "max", "wait", "client",
)  # fmt: skip


def latency_table(report: Report) -> Table:
    """Latencies in milliseconds after the end of speech; red where the bound was not kept."""
    title = f"Final after the end of speech, ms (bound: p95 {1000 * report.bound_s:.0f})"
    return _table(report, title, _LATENCY, _latency_cells)


def cost_table(report: Report) -> Table:
    """What the server used, in processor cores, and how its engine was filled."""
    return _table(report, "What it costs", _COST, _cost_cells)


def sustained_table(report: Report) -> Table:
    """Callers sustained by each server, for several bounds."""
    title = "Callers sustained, by the bound that the p95 of the final latency must keep"
    table = Table(Column("server", no_wrap=True), title=title, box=SIMPLE_HEAD)
    for bound_s in report.bounds_s:
        table.add_column(f"{bound_s:g} s", justify="right")
    for system in report.systems:
        most = max((r.streams for r in report.rounds if r.system == system), default=0)
        cells = []
        for bound_s in report.bounds_s:
            streams = report.sustained(system, bound_s)
            cells.append(f"≥ {streams}" if streams == most > 0 else str(streams))
        table.add_row(system, *cells)
    return table


def _table(report: Report, title: str, columns: tuple[str, ...], cells: object) -> Table:
    assert callable(cells)
    name_column = Column("server", no_wrap=True)
    table = Table(name_column, title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right")
    for result in sorted(report.rounds, key=lambda result: (result.system, result.streams)):
        style = None if result.within(report.bound_s) else "red"
        table.add_row(result.system, str(result.streams), *cells(result), style=style)
    return table


def _latency_cells(result: Round) -> list[str]:
    final, after, interim = result.final_s, result.after_finalize_s, result.interim_s
    missing = result.lost + result.refused
    return [
        str(result.finals),
        *(ms(getattr(final, name, None)) for name in ("p50", "p95", "p99")),
        ms(after.p95 if after else None),
        f"{result.interim_hz:.1f}" if result.interims and result.interim_hz else "",
        ms(interim.p95 if interim else None),
        percent(result.wer),
        percent(result.offline_wer),
        str(missing or ""),
    ]


def _cost_cells(result: Round) -> list[str]:
    load = result.load
    return [
        f"{load.cpu_cores:.2f}",
        f"{result.cost_per_stream:.3f}",
        f"{load.event_loop_cores:.2f}",
        f"{load.other_threads[0]:.2f}" if load.other_threads else "",
        percent(load.engine_busy),
        f"{result.engine_rtf:.3f}" if result.engine_rtf else "",
        f"{result.decodes_per_final:.1f}" if result.decodes_per_final else "",
        f"{load.batch_mean:.1f}" if load.batch_mean else "",
        load.batch_max or "",
        ms(load.queue_wait_mean_s),
        f"{result.client_cores:.2f}{' late' if result.client_saturated else ''}",
    ]
