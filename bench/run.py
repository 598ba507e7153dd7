"""Runs a benchmark to its end, or as far as it comes, and leaves its report."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psutil

from bench.options import INTERRUPTED, fail


class Report(Protocol):
    """What a benchmark has measured so far."""

    @property
    def notes(self) -> list[str]:
        """What was left out, could not be run, or casts doubt."""
        ...

    @property
    def measured(self) -> bool:
        """Whether there is anything to show."""
        ...

    def to_json(self) -> dict[str, Any]:
        """All of it."""
        ...


class Benchmark(Protocol):
    """Fills its report as it runs."""

    @property
    def report(self) -> Report: ...

    async def run(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Output:
    """Where a report goes."""

    show: Callable[[], None]
    """Prints it."""
    draw: Callable[[Path], None]
    """Writes it as a picture."""
    json_file: Path | None
    plot: Path | None


def run_to_report(
    benchmark: Benchmark, output: Output, failures: tuple[type[Exception], ...] = ()
) -> None:
    """Run, then show and write what was measured, also after a failure or Ctrl-C.

    Args:
        benchmark: what to run.
        output: where its report goes.
        failures: errors besides the usual ones that mean that a server did not start, or died.

    Raises:
        typer.Exit: it did not end as it should: 130 after Ctrl-C, 1 after a failure.
    """
    report = benchmark.report
    status, failure = 0, ""
    try:
        asyncio.run(benchmark.run())
    except KeyboardInterrupt:
        status, failure = INTERRUPTED, "interrupted: not every step was measured"
    except (RuntimeError, OSError, psutil.Error, *failures) as error:
        status, failure = 1, f"the run broke off: {error}"
    if failure:
        report.notes.append(failure)
    if report.measured:
        output.show()
        if output.json_file is not None:
            text = json.dumps(report.to_json(), indent=2)
            output.json_file.write_text(f"{text}\n", encoding="utf-8")
        if output.plot is not None:
            output.draw(output.plot)
    if failure:
        fail(failure, status)
