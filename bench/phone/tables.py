"""A run as tables for people."""

from rich.box import SIMPLE_HEAD
from rich.table import Table

from bench.cells import ms, percent
from bench.percentiles import Percentiles
from bench.phone.records import BROWSER, PHONE, Series, Step
from bench.phone.report import Report


def path_table(report: Report) -> Table:
    """Both paths beside each other; times in milliseconds at the caller's ear."""
    summary = report.summary()
    table = _table(
        "Both paths, ms",
        "path",
        "turns",
        "p50",
        "p95",
        "cut off",
        "word errors %",
        "of all turns %",
    )
    for path, prefix in ((PHONE, ""), (BROWSER, "browser_")):
        heard = report.voice_to_voice_s(path)
        table.add_row(
            path,
            str(len(report.of(path))),
            *_ms(heard),
            str(summary[f"{prefix}cut_off"]),
            percent(summary[f"{prefix}word_error_rate"]),
            percent(summary[f"{prefix}all_turns_word_error_rate"]),
        )
    return table


def series_table(report: Report) -> Table:
    """Calls in a row and at once: what they lost and left."""
    table = _table(
        "Telephone calls", "calls", "number", "failed", "answer p50", "p95", "first word p50",
        "p95", "packets", "lost", "rooms left", "processes", "files", "ports",
    )  # fmt: skip
    for name, series in (("in a row", report.in_a_row), ("at once", report.at_once)):
        if series is not None:
            table.add_row(name, *_series_cells(series))
    return table


def ladder_table(report: Report) -> Table:
    """The steps; red where something was heard that was not said."""
    table = _table(
        "Until the first glitch", "calls at once", "p50", "p95", "failed", "packets lost", "gaps",
        "garbled", "late gaps", "caller late",
    )  # fmt: skip
    for step in report.steps:
        table.add_row(str(step.calls), *_step_cells(step), style=None if step.clean else "red")
    return table


def _series_cells(series: Series) -> list[str]:
    calls, left = series.calls, series.left
    answer = Percentiles.of([one.answer_s for one in calls if one.answer_s is not None])
    first = Percentiles.of([one.first_word_s for one in calls if one.first_word_s is not None])
    return [
        str(len(calls)),
        str(len(series.failures)),
        *_ms(answer),
        *_ms(first),
        str(sum(call.sent + call.received for call in calls)),
        str(series.lost),
        *map(str, (left.rooms, left.processes, left.files, left.ports)),
    ]


def _step_cells(step: Step) -> list[str]:
    heard = step.heard
    waits = Percentiles.of(
        [one.voice_to_voice_s for one in heard if one.voice_to_voice_s is not None]
    )
    found = [glitch for one in heard for glitch in one.glitches]
    return [
        *_ms(waits),
        str(sum(bool(one.call.failure) for one in heard)),
        str(sum(one.call.lost for one in heard)),
        str(sum(glitch.gap_s is not None for glitch in found)),
        str(sum(glitch.gap_s is None for glitch in found)),
        str(sum(len(one.late_gaps_s) for one in heard)),
        ms(max((one.caller_late_s for one in heard), default=None)),
    ]


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in columns:
        table.add_column(name, justify="left" if name in ("path", "calls") else "right")
    return table


def _ms(found: Percentiles | None) -> list[str]:
    return [ms(found.p50 if found else None), ms(found.p95 if found else None)]
