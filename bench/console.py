"""How a benchmark speaks to whoever runs it."""

from collections.abc import Iterable, Mapping

from rich.console import Console

from bench.cells import WIDTH


def wide_console() -> Console:
    """A console that the tables fit into."""
    console = Console(highlight=False)
    console.width = max(console.width, WIDTH)
    return console


def show_summary(console: Console, notes: Iterable[str], summary: Mapping[str, object]) -> None:
    """Print what casts doubt, then the headline figures."""
    for note in notes:
        console.print(f"[yellow]note[/] {note}")
    width = max(map(len, summary), default=0)
    for name, value in summary.items():
        shown = f"{value:.4g}" if isinstance(value, float) else value
        console.print(f"{name:{width}} {shown}")
