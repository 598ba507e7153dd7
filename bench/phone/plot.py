"""Draws a run: how long callers wait on both paths. Needs matplotlib."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from bench.phone.records import BROWSER, PHONE
from bench.phone.report import Report


def draw(report: Report, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    figure = Figure(figsize=(5.5, 4.5), layout="constrained")
    axes = figure.subplots()
    for name in (PHONE, BROWSER):
        waits_s = [one.voice_to_voice_s for one in report.of(name) if not one.cut_off]
        heard_ms = 1000 * np.sort([one for one in waits_s if one is not None and np.isfinite(one)])
        shares = 100 * np.arange(1, len(heard_ms) + 1) / max(1, len(waits_s))
        axes.step(heard_ms, shares, where="post", label=name)
    axes.set(xlabel="voice to voice, ms", ylabel="% of turns answered by then", ylim=(0, 100))
    axes.legend()
    axes.grid(alpha=0.3)
    figure.suptitle("Voice to voice by telephone and through WebRTC")
    figure.savefig(path, dpi=120)
