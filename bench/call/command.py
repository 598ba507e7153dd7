"""`parley bench call`: whole calls, ours beside the stock wiring, measured at the caller's ear."""

import logging
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from bench.call.benchmark import Benchmark
from bench.call.plan import FULL, QUICK, parse_loads
from bench.call.report import Report
from bench.call.sayings import load_sayings
from bench.call.tables import cost_table, kind_table, turn_table
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
from bench.run import Output, run_to_report
from speech_server.errors import SpeechError
from voice_agent.settings import home_dir

MOST_CALLERS = 16


def call(
    turns: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Turns of the recorded set that each wiring hears.",
            show_default=f"{FULL.turns}",
        ),
    ] = None,
    callers: Annotated[
        int,
        typer.Option(
            metavar="N", min=1, max=MOST_CALLERS, help="Calls at once, all of one wiring."
        ),
    ] = 1,
    interruptions: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1000,
            help="Interruptions that each wiring hears, and as many back-channels.",
            show_default="all of the set",
        ),
    ] = None,
    loads: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Calls at once, step by step, for what a call costs the worker; 0: none.",
            show_default=",".join(map(str, FULL.loads)),
        ),
    ] = None,
    simulated: Annotated[
        bool,
        typer.Option(
            "--simulated", help="A second table with a GPU's timings simulated, labelled as such."
        ),
    ] = False,
    setting: Annotated[list[str] | None, setting_option("our stack")] = None,
    quick: Annotated[
        bool,
        typer.Option("--quick", help="End within two minutes: a few turns, not a figure to quote."),
    ] = False,
    json_file: JsonFile = None,
    plot: Annotated[Path | None, plot_option("how long callers wait")] = None,
) -> None:
    """Call our agent and LiveKit's stock wiring, in turns, and measure both at the caller's ear.

    Starts a stack of its own with both workers on the same servers. Callers say the recorded set of
    turns, with its pauses, interruptions and back-channels. From the caller's last audible sample
    to the first one of the answer; and whether the agent cut in, split the turn, lost it, stopped
    when it was interrupted, and went on when it was only told "mhm".

    Exit status: 0 measured; 1 a process failed; 2 the options cannot be used; 130 interrupted.
    What was measured until then is shown and written all the same.
    """
    # the SDK warns of each audio stream that the other side ends, as every call does
    logging.getLogger("livekit").setLevel(logging.ERROR)
    console = wide_console()
    try:
        check_outputs(json_file, plot)
        plan = (QUICK if quick else FULL).changed(
            turns=turns,
            beside=interruptions,
            callers=callers,
            loads=None if loads is None else parse_loads(loads),
        )
        settings = parse_settings(setting or [])
        cache = home_dir() / "bench"
        benchmark = Benchmark(
            load_sayings(cache), plan, settings, simulated, cache / "call-logs", console
        )
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    except SpeechError as error:
        fail(f"the recorded set cannot be spoken: {error}", BAD_INPUT)

    def draw(path: Path) -> None:
        from bench.call.plot import draw  # matplotlib may be missing

        draw(benchmark.report, path)

    show = partial(_show, console, benchmark.report)
    # tests.stack, which runs the stack, tells with an AssertionError why it did not start
    failures = (PeerUnavailable, AssertionError)
    run_to_report(benchmark, Output(show, draw, json_file, plot), failures)


def _show(console: Console, report: Report) -> None:
    console.print(turn_table(report))
    console.print(kind_table(report))
    if report.costs:
        console.print(cost_table(report))
    for name, description in report.systems.items():
        console.print(f"[bold]{name}[/]: {description}")
    show_summary(console, [*report.notes, *report.doubts()], report.summary())
