"""Curves against a load that doubles from step to step. Needs matplotlib."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter


def two_panels() -> tuple[Figure, Axes, Axes]:
    """An empty picture: the left panel, the right one."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    return figure, left, right


def finish(figure: Figure, title: str, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    for axes in figure.axes:
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_formatter(ScalarFormatter())
        axes.grid(alpha=0.3)
    figure.axes[0].legend()
    figure.suptitle(title)
    figure.savefig(path, dpi=120)
