"""Cells and tables of Markdown, as the page of benchmarks has them."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Result = Mapping[str, Any]
"""A file of bench/results."""


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table: its columns, and the cells of each row."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def ms(value_s: float | None) -> str:
    """Seconds as whole milliseconds; None never came."""
    return "never" if value_s is None else f"{1000 * value_s:.0f}"


def both(found: Mapping[str, float | None] | None) -> list[str]:
    """p50 and p95 in milliseconds; nothing was measured where there is no set of them."""
    return ["", ""] if found is None else [ms(found["p50"]), ms(found["p95"])]


def percent(share: float | None) -> str:
    """A share of one; nothing where there is none."""
    return "" if share is None else f"{100 * share:.1f}"


def mib(value_bytes: float) -> str:
    """Bytes as whole MiB."""
    return f"{value_bytes / 2**20:.0f}"


def nearest_rank(values: Iterable[float], share: float) -> float:
    """A percentile that is one of the values."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]
