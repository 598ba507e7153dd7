"""Draws a run: latency and cost against the number of callers. Needs matplotlib."""

from pathlib import Path

from bench.panels import finish, two_panels
from bench.stt.report import Report


def draw(report: Report, path: Path) -> None:
    """Write the picture; the file's ending decides on its format."""
    figure, latency, cost = two_panels()
    for system in report.systems:
        rounds = sorted(
            (r for r in report.rounds if r.system == system and r.final_s is not None),
            key=lambda result: result.streams,
        )
        streams = [result.streams for result in rounds]
        p95_ms = [1000 * result.final_s.p95 for result in rounds if result.final_s]
        latency.plot(streams, p95_ms, marker="o", label=system)
        cost.plot(streams, [result.load.cpu_cores for result in rounds], marker="o", label=system)
    latency.axhline(1000 * report.bound_s, color="grey", linestyle="--", label="bound")
    latency.set(xlabel="callers at once", ylabel="final after end of speech, p95, ms")
    latency.set_ylim(0, 4000 * report.bound_s)
    cost.set(xlabel="callers at once", ylabel="processor cores used by the server")
    title = f"{report.conditions['engine']}, {report.conditions['model'] or 'built in'}"
    finish(figure, title, path)
