"""`parley bench llm`: how soon the model's first word comes, and how evenly the others."""

from functools import partial
from pathlib import Path
from typing import Annotated

import aiohttp
import typer
from rich.console import Console

from bench.console import show_summary, wide_console
from bench.llm.benchmark import Benchmark
from bench.llm.plan import FULL, QUICK, parse_callers
from bench.llm.report import Report
from bench.llm.systems import System, check
from bench.llm.tables import load_table, prompt_table
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


def llm(
    url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Base URL of a server that runs, with its /v1.",
            show_default="ours is started, with vLLM on this machine",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|DIR",
            help="With --url the model to ask for, else the directory of the model to serve.",
            show_default="the first that it lists; random weights",
        ),
    ] = None,
    api_key: Annotated[
        str, typer.Option(metavar="KEY", help="Key of the server.", show_default=False)
    ] = "none",
    prompt_tokens: Annotated[
        int | None,
        typer.Option(
            metavar="TOKENS",
            min=200,
            max=100_000,
            help="Length of the system prompt.",
            show_default=str(FULL.prompt_tokens),
        ),
    ] = None,
    callers: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Callers at once, step by step.",
            show_default=",".join(map(str, FULL.callers)),
        ),
    ] = None,
    setting: Annotated[
        list[str] | None, setting_option("our server, for example language_max_sequences=4")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="End within two minutes: few prompts, few steps.")
    ] = False,
    json_file: JsonFile = None,
    plot: Annotated[Path | None, plot_option("the times, by callers at once")] = None,
) -> None:
    """Ask a language model as calls do and measure when its tokens come.

    The same long system prompt unknown and known to the server; then callers at once who share it;
    with our server also after other prompts have filled the cache, once with the prefix kept warm
    and once without. Without --url it starts our server with vLLM and a model with random weights:
    true work for its size, and nothing to say.

    Exit status: 0 measured; 1 the server failed; 2 the options cannot be used; 130 interrupted.
    What was measured until then is shown and written all the same.
    """
    console = wide_console()
    try:
        check_outputs(json_file, plot)
        check(url)
        plan = (QUICK if quick else FULL).changed(
            prompt_tokens=prompt_tokens, callers=parse_callers(callers) if callers else None
        )
        settings = {
            name.removeprefix("language_"): value
            for name, value in parse_settings(setting or []).items()
        }
        system = System(url, model, api_key, url, None) if url else None
        folder = Path(model).absolute() if model and not url else None
        if folder is not None and not folder.is_dir():
            raise BadOption(f"--model {model}: there is no such directory")
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    benchmark = Benchmark(system, folder, plan, settings, console)

    def draw(path: Path) -> None:
        from bench.llm.plot import draw  # matplotlib may be missing

        draw(benchmark.report, path)

    output = Output(partial(_show, console, benchmark.report), draw, json_file, plot)
    run_to_report(benchmark, output, (aiohttp.ClientError, TimeoutError))


def _show(console: Console, report: Report) -> None:
    for table in (prompt_table(report), load_table(report)):
        console.print(table)
    show_summary(console, report.notes, report.summary())
