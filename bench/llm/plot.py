"""Draws a run: first tokens and times between tokens, by callers at once. Needs matplotlib."""

from pathlib import Path

from matplotlib.axes import Axes

from bench.llm.report import Report
from bench.panels import finish, two_panels


def draw(report: Report, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    figure, first, between = two_panels()
    for name in ("p50", "p95", "p99"):
        _curve(first, report, "ttft_s", name)
        _curve(between, report, "gap_s", name)
    first.set(xlabel="callers at once", ylabel="ms to the first token")
    between.set(xlabel="callers at once", ylabel="ms between two tokens")
    between.legend()
    title = f"{report.conditions.get('server')}, prompts of {report.conditions['prompt_tokens']}"
    finish(figure, f"{title} tokens", path)


def _curve(axes: Axes, report: Report, quantity: str, percentile: str) -> None:
    measured = [load for load in report.loads if getattr(load, quantity) is not None]
    values_ms = [1000 * getattr(getattr(load, quantity), percentile) for load in measured]
    axes.plot([load.callers for load in measured], values_ms, marker="o", label=percentile)
