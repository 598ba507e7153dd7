"""A run as tables for people."""

from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from bench.cells import ms, percent
from bench.llm.asking import Answer
from bench.llm.report import Load, Report, cached_share
from bench.percentiles import Percentiles

_PROMPT: Final = ("answers", "prompt tokens", "cached %", "TTFT p50", "p95")
_LOAD: Final = (
    "answers", "refused", "TTFT p50", "p95", "p99", "token p50", "p95", "p99", "jitter", "cached %",
    "tokens/s",
)  # fmt: skip


def prompt_table(report: Report) -> Table:
    """The same prompt unknown and known, ms."""
    table = _table("One caller: the first token, ms", "prompt", _PROMPT)
    rows: list[tuple[str, Sequence[Answer]]] = [("unknown", report.cold), ("known", report.cached)]
    rows += [(f"known, cache filled, {n}", found) for n, found in report.under_pressure.items()]
    for name, answers in rows:
        ttft_s = Percentiles.of([answer.ttft_s for answer in answers])
        tokens = str(answers[0].prompt_tokens) if answers else ""
        share = percent(cached_share(answers))
        table.add_row(name, str(len(answers)), tokens, share, *_ms(ttft_s, "p50", "p95"))
    return table


def load_table(report: Report) -> Table:
    """Callers at once, ms; red where some were refused."""
    table = _table("Callers at once: first token and time between tokens, ms", "callers", _LOAD)
    for load in report.loads:
        table.add_row(str(load.callers), *_cells(load), style="red" if load.refused else None)
    return table


def _cells(load: Load) -> list[str]:
    return [
        str(load.answers),
        str(load.refused or ""),
        *_ms(load.ttft_s, "p50", "p95", "p99"),
        *_ms(load.gap_s, "p50", "p95", "p99"),
        ms(load.jitter_s),
        percent(load.cached_share),
        f"{load.tokens_per_s:.0f}",
    ]


def _table(title: str, first: str, columns: tuple[str, ...]) -> Table:
    table = Table(Column(first, no_wrap=True), title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _ms(found: Percentiles | None, *names: str) -> list[str]:
    return [ms(getattr(found, name, None)) for name in names]
