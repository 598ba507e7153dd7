"""A run as tables for people."""

from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.call.engines import SIMULATED
from bench.call.report import Report, Tally
from bench.cells import ms, percent
from bench.percentiles import Percentiles

_TURN: Final = (
    "turns", "p50", "p95", "unfinished p50", "false cut-off %", "heard %", "split %", "lost %",
    "barge-in p50", "p95", "hums ignored %", "survived %", "break p50", "p95",
)  # fmt: skip
_COST: Final = (
    "calls", "cores a call", "MiB a call", "p50", "p95", "turns", "failed", "machine busy %",
    "callers' cores",
)  # fmt: skip


def turn_table(report: Report) -> Table:
    """Both wirings, headline by headline; times in milliseconds at the caller's ear."""
    table = _table("Voice to voice at the caller's ear, ms", "engines", "wiring", *_TURN)
    for tally in report.tallies.values():
        engines = "SIMULATED" if tally.engines == SIMULATED.name else tally.engines
        table.add_row(engines, tally.wiring, *_turn_cells(tally))
    return table


def kind_table(report: Report) -> Table:
    """The same by kind of turn and by part of the recorded set."""
    table = _table("By kind and part, ms", "engines", "wiring", "what", *_TURN[:8])
    for tally in report.tallies.values():
        groups = tally.groups(lambda turn: turn.kind) | tally.groups(lambda turn: turn.part)
        for name, group in groups.items():
            table.add_row(tally.engines, tally.wiring, name, *_turn_cells(group)[:8])
    return table


def cost_table(report: Report) -> Table:
    """What calls at once cost our worker; red where the whole machine was full."""
    table = _table("What a call costs the worker", *_COST)
    for cost in report.costs:
        table.add_row(
            str(cost.calls),
            f"{cost.cpu_cores_per_call:.3f}",
            f"{cost.pss_bytes_per_call / 2**20:.0f}",
            *_ms(cost.voice_to_voice_s),
            str(cost.turns),
            str(cost.failed_calls or ""),
            percent(cost.machine_busy),
            f"{cost.caller_cores:.2f}",
            style="red" if cost.saturated else None,
        )
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        words = name in ("engines", "wiring", "what")
        table.add_column(name, justify="left" if words else "right", no_wrap=words)
    return table


def _turn_cells(tally: Tally) -> list[str]:
    rates = tally.rates()
    return [
        str(len(tally.turns)),
        *_ms(tally.voice_to_voice_s),
        _ms(tally.unfinished_s)[0],
        *(
            percent(rates[f"{name}_rate"])
            for name in ("false_cutoff", "audible_cutoff", "split_turn", "lost_turn")
        ),
        *_ms(tally.barge_in_stop_s),
        percent(rates["backchannels_ignored_rate"]),
        percent(rates["backchannels_survived_rate"]),
        *_ms(tally.backchannel_break_s),
    ]


def _ms(found: Percentiles | None) -> list[str]:
    return [ms(found.p50 if found else None), ms(found.p95 if found else None)]
