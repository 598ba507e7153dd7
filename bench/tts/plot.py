"""Draws a run: when replies are heard, by load. Needs matplotlib."""

from pathlib import Path

from matplotlib.axes import Axes

from bench.panels import finish, two_panels
from bench.tts.report import OUR_CODE_VOICE, OURS, REFERENCE, Report


def draw(report: Report, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    figure, served, codes = two_panels()
    for name in ("p50", "p95", "p99"):
        _curve(served, report, OURS, name, f"audible, {name}")
    served.axhline(1000 * report.bound_s, color="grey", linestyle="--", label="bound of the p95")
    served.set(xlabel="replies asked for per second", ylabel="ms after the first text")
    for voice in (OUR_CODE_VOICE, REFERENCE):
        _curve(codes, report, voice, "p95", voice)
    codes.set(xlabel="listeners on the same tokens", ylabel="audible p95, ms after the text")
    codes.legend()
    finish(figure, f"{report.conditions['engine']}: x marks under-runs", path)


def _curve(axes: Axes, report: Report, system: str, percentile: str, label: str) -> None:
    rounds = sorted(
        (r for r in report.rounds if r.system == system and r.audible_s is not None),
        key=lambda result: result.step,
    )
    steps = [result.step for result in rounds]
    audible_ms = [1000 * getattr(result.audible_s, percentile) for result in rounds]
    (line,) = axes.plot(steps, audible_ms, marker="o", label=label)
    with_gaps = [index for index, result in enumerate(rounds) if result.gaps]
    axes.plot(
        [steps[index] for index in with_gaps],
        [audible_ms[index] for index in with_gaps],
        linestyle="",
        marker="x",
        markersize=12,
        color=line.get_color(),
    )
