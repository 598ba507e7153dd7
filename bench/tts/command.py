"""`parley bench tts`: how soon a reply is heard, and how many at once."""

from functools import partial
from pathlib import Path
from typing import Annotated

import aiohttp
import typer
from rich.console import Console

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
    talk_option,
)
from bench.run import Output, run_to_report
from bench.tts.benchmark import Benchmark
from bench.tts.plan import BOUND_S, FULL, QUICK, TOKENS_PER_S, parse_rates
from bench.tts.replies import read_replies, tiny_voice_replies
from bench.tts.report import Report
from bench.tts.systems import EngineName, Voice, check
from bench.tts.tables import cost_table, heard_table
from speech_server.errors import SpeechError


def tts(
    engine: Annotated[
        EngineName,
        typer.Option(help="What the server speaks with. auto: flite where installed, or espeak."),
    ] = "auto",
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Orpheus: the model's directory, SNAC in its folder `snac` "
            "(or --setting tts_snac=DIR).",
            show_default="the tests' tiny voice",
        ),
    ] = None,
    texts: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is said: one reply on each line.",
            show_default="replies of the demo",
        ),
    ] = None,
    rates: Annotated[
        str | None,
        typer.Option(
            metavar="R,R,…",
            help="Replies asked for per second, step by step.",
            show_default=",".join(f"{rate:g}" for rate in FULL.rates_hz),
        ),
    ] = None,
    bound: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.02,
            max=10,
            help="A step is sustained while nobody hears a gap and 95 % of the replies are heard "
            "within this after their first text.",
        ),
    ] = BOUND_S,
    talk: Annotated[float | None, talk_option(FULL.talk_s)] = None,
    text_pace: Annotated[
        float,
        typer.Option(
            metavar="TOKENS/S", min=1, max=10_000, help="Pace of the language model that writes."
        ),
    ] = TOKENS_PER_S,
    setting: Annotated[
        list[str] | None, setting_option("our server, for example tts_memory_share=0.4")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="End within a minute: few steps, short rounds.")
    ] = False,
    json_file: JsonFile = None,
    plot: Annotated[Path | None, plot_option("what is heard, by load")] = None,
) -> None:
    """Ask the speech server for replies and measure when they are heard.

    Starts the server as a process of its own. Replies are asked for at random moments, however
    slowly it answers, and pushed token by token as a language model writes them. Steps go up until
    somebody hears a gap or waits too long. Beside it: the codec against a full decode and against
    the reference's window, on the tokens of the tests' tiny voice.

    Exit status: 0 measured; 1 the server failed; 2 the options cannot be used; 130 interrupted.
    What was measured until then is shown and written all the same.
    """
    console = wide_console()
    try:
        check_outputs(json_file, plot)
        voice = Voice(engine, model)
        check(voice)
        plan = QUICK if quick else FULL
        if voice.is_tiny:
            plan = plan.for_tiny_voice()
        plan = plan.changed(
            rates_hz=parse_rates(rates) if rates else None,
            talk_s=talk,
            bound_s=bound,
            tokens_per_s=text_pace,
        )
        said = read_replies(texts)
        if texts is None and voice.is_tiny:
            said = list(tiny_voice_replies())
        benchmark = Benchmark(voice, said, plan, parse_settings(setting or []), console)
    except BadOption as error:
        fail(str(error), BAD_INPUT)

    def draw(path: Path) -> None:
        from bench.tts.plot import draw  # matplotlib may be missing

        draw(benchmark.report, path)

    show = partial(_show, console, benchmark.report)
    run_to_report(
        benchmark, Output(show, draw, json_file, plot), (SpeechError, aiohttp.ClientError)
    )


def _show(console: Console, report: Report) -> None:
    for table in (heard_table(report), cost_table(report)):
        console.print(table)
    for name, description in report.systems.items():
        console.print(f"[bold]{name}[/]: {description}")
    show_summary(console, [*report.notes, *report.doubts()], report.summary())
