"""Draws a run: how long callers wait, and what a call costs. Needs matplotlib."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bench.call.report import Report


def draw(report: Report, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    panels = 2 if report.costs else 1
    figure = Figure(figsize=(5.5 * panels, 4.5), layout="constrained")
    waits, *beside = figure.subplots(1, panels, squeeze=False)[0]
    for tally in report.tallies.values():
        latencies_s = tally.latencies_s()
        heard_ms = 1000 * np.sort([one for one in latencies_s if np.isfinite(one)])
        shares = 100 * np.arange(1, len(heard_ms) + 1) / max(1, len(latencies_s))
        waits.step(heard_ms, shares, where="post", label=f"{tally.wiring}, {tally.engines}")
    waits.set(xlabel="voice to voice, ms", ylabel="% of turns answered by then", ylim=(0, 100))
    waits.legend(title="wiring, engines")
    for costs in beside:
        calls = [cost.calls for cost in report.costs]
        costs.plot(calls, [cost.cpu_cores_per_call for cost in report.costs], marker="o")
        costs.set(xlabel="calls at once", ylabel="cores of the worker, per call", ylim=(0, None))
    for axes in figure.axes:
        axes.grid(alpha=0.3)
    figure.suptitle("Voice to voice at the caller's ear")
    figure.savefig(path, dpi=120)
