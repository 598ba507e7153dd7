"""`parley bench phone`: telephone calls, beside the browser's, measured at the caller's ear."""

import logging
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.call.sayings import load_sayings
from bench.children import PeerUnavailable
from bench.console import show_summary, wide_console
from bench.options import (
    BAD_INPUT,
    BadOption,
    JsonFile,
    check_outputs,
    fail,
    parse_settings,
    plot_option,
    setting_option,
)
from bench.phone.benchmark import Benchmark
from bench.phone.plan import FULL, MOST_CALLS, QUICK, parse_ladder
from bench.phone.report import Report
from bench.phone.tables import ladder_table, path_table, series_table
from bench.run import Output, run_to_report
from speech_server.errors import SpeechError
from tests.phone_network import restart_inside, why_no_telephone
from voice_agent.settings import home_dir


def phone(
    lines: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=FULL.lines,
            help="Lines of the recorded conversation, said on each path.",
            show_default=f"{FULL.lines}",
        ),
    ] = None,
    conversations: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=100,
            help="How often the conversation is held, on each path.",
            show_default=f"{FULL.conversations}",
        ),
    ] = None,
    calls: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=200,
            help="Calls with turns of the recorded set, on each path, beside the conversation.",
            show_default=f"{FULL.calls}",
        ),
    ] = None,
    in_a_row: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=0, max=1000, help="Calls in a row.", show_default=f"{FULL.in_a_row}"
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            max=MOST_CALLS,
            help="Calls begun in the same moment.",
            show_default=f"{FULL.at_once}",
        ),
    ] = None,
    ladder: Annotated[
        str | None,
        typer.Option(
            metavar="1,N,…",
            help="Calls at once, step by step, until the first glitch; 0: none.",
            show_default=",".join(map(str, FULL.ladder)),
        ),
    ] = None,
    setting: Annotated[list[str] | None, setting_option("our stack")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="End within two minutes: a few calls, not a figure to quote."),
    ] = False,
    json_file: JsonFile = None,
    plot: Annotated[Path | None, plot_option("how long callers wait on both paths")] = None,
) -> None:
    """Call our agent by telephone and as a browser does, in turns, and measure both at the ear.

    Starts a stack of its own with livekit-sip and Redis, in a network namespace of its own. From
    the invitation to the agent's first word; from the caller's last audible sample to the first
    one of the answer; what the agent understood through G.711; packets lost, and what calls leave
    behind; how many calls at once until one of them hears a gap.

    Exit status: 0 measured; 1 a process failed; 2 the options cannot be used, or no telephone can
    be called here; 130 interrupted. What was measured until then is shown and written all the same.
    """
    # the SDK warns of each audio stream that the other side ends, as every call does
    logging.getLogger("livekit").setLevel(logging.ERROR)
    console = wide_console()
    try:
        check_outputs(json_file, plot)
        plan = (QUICK if quick else FULL).changed(
            lines=lines,
            conversations=conversations,
            calls=calls,
            in_a_row=in_a_row,
            at_once=at_once,
            ladder=None if ladder is None else parse_ladder(ladder),
        )
        settings = parse_settings(setting or [])
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    if reason := why_no_telephone():
        fail(f"no telephone can be called here: {reason}", BAD_INPUT)
    restart_inside([sys.executable, *sys.argv])
    cache = home_dir() / "bench"
    try:
        benchmark = Benchmark(load_sayings(cache), plan, settings, cache / "phone-logs", console)
    except SpeechError as error:
        fail(f"the recorded set cannot be spoken: {error}", BAD_INPUT)

    def draw(path: Path) -> None:
        from bench.phone.plot import draw  # matplotlib may be missing

        draw(benchmark.report, path)

    show = partial(_show, console, benchmark.report)
    # tests.stack, which runs the stack, tells with an AssertionError why it did not start
    failures = (PeerUnavailable, AssertionError, subprocess.SubprocessError)
    run_to_report(benchmark, Output(show, draw, json_file, plot), failures)


def _show(console: Console, report: Report) -> None:
    console.print(path_table(report))
    if report.in_a_row or report.at_once:
        console.print(series_table(report))
    if report.steps:
        console.print(ladder_table(report))
    show_summary(console, [*report.notes, *report.doubts()], report.summary())
