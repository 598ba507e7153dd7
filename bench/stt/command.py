"""`parley bench stt`: how many callers the speech server hears at once, and how soon."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from bench.console import wide_console
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
from bench.stt.benchmark import Benchmark, Peers
from bench.stt.plan import FULL, QUICK, parse_steps
from bench.stt.recordings import BadRecording, Recording, read_recordings, spoken_recordings
from bench.stt.report import Report
from bench.stt.systems import Engine
from bench.stt.tables import cost_table, latency_table, sustained_table
from bench.stt.widened_whisper import DIMENSIONS, widened_whisper
from voice_agent.settings import home_dir


def stt(
    engine: Annotated[
        Literal["whisper", "moonshine"],
        typer.Option(help="What the server decodes with. Peers exist for whisper only."),
    ] = "whisper",
    dimensions: Annotated[
        str,
        typer.Option(
            metavar="|".join(DIMENSIONS),
            help="Size of the Whisper made on the spot: full-size matrices, a small vocabulary.",
        ),
    ] = "tiny",
    model: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A Whisper in faster-whisper's format in place of the made one.",
            show_default=False,
        ),
    ] = None,
    recordings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A recorded set: NAME.wav, mono 16 bit, beside its words in NAME.txt.",
            show_default="spoken by flite",
        ),
    ] = None,
    streams: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,…",
            help="Callers at once, step by step.",
            show_default=",".join(map(str, FULL.steps)),
        ),
    ] = None,
    bound: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0.05,
            max=10,
            help="A step is sustained while 95 % of the finals come within this after the end of "
            "speech, the 0.1 s of silence before Finalize included.",
        ),
    ] = 0.5,
    talk: Annotated[float | None, talk_option(FULL.talk_s)] = None,
    cpu_threads: Annotated[
        int | None,
        typer.Option(min=1, max=256, help="Threads of the engines.", show_default="all cores"),
    ] = None,
    device: Annotated[
        Literal["cpu", "cuda"], typer.Option(help="Where every server decodes.")
    ] = "cpu",
    peers: Annotated[
        bool, typer.Option(help="Measure other ways to serve the same model beside ours.")
    ] = True,
    setting: Annotated[
        list[str] | None, setting_option("our server, for example stt_shortest_window_s=6")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="End within a minute: few steps, short rounds.")
    ] = False,
    json_file: JsonFile = None,
    plot: Annotated[Path | None, plot_option("latency and cost by streams")] = None,
) -> None:
    """Load the speech server with real-time callers and measure when they are heard.

    Starts the server as a process of its own. Every caller speaks recordings in real time, asks
    for the final 0.1 s after the last word and is quiet for 1-2 s. Steps go up until 95 % of the
    finals no longer come within the bound; peers on the same model take turns with ours.

    Exit status: 0 measured; 1 a server failed; 2 the options cannot be used; 130 interrupted. What
    was measured until then is shown and written all the same.
    """
    console = wide_console()
    try:
        check_outputs(json_file, plot)
        plan = (QUICK if quick else FULL).changed(
            steps=parse_steps(streams) if streams else None, talk_s=talk, bound_s=bound
        )
        settings = parse_settings(setting or [])
        cache = home_dir() / "bench"
        chosen = _engine(engine, dimensions, model, cache, cpu_threads, device)
        said = _recordings(recordings, model, engine, cache)
        benchmark = Benchmark(chosen, said, plan, settings, _peers(peers, quick), cache, console)
    except (BadOption, BadRecording) as error:
        fail(str(error), BAD_INPUT)
    except FileNotFoundError as error:
        fail(f"{error.filename or error}: not found. The recorded set needs flite: "
              "apt-get install flite, or --recordings DIR", BAD_INPUT)  # fmt: skip

    def draw(path: Path) -> None:
        from bench.stt.plot import draw  # matplotlib may be missing

        draw(benchmark.report, path)

    output = Output(partial(_show, console, benchmark.report), draw, json_file, plot)
    run_to_report(benchmark, output)


def _engine(
    name: Literal["whisper", "moonshine"],
    dimensions: str,
    model: Path | None,
    cache: Path,
    cpu_threads: int | None,
    device: Literal["cpu", "cuda"],
) -> Engine:
    threads = cpu_threads or os.cpu_count() or 1
    if name == "moonshine":
        return Engine("moonshine", None, threads)
    try:
        import faster_whisper  # noqa: F401
    except ImportError as error:
        raise BadOption(
            f"--engine whisper: {error}; install it with: pip install 'parley[whisper]'"
        ) from error
    if dimensions not in DIMENSIONS:
        raise BadOption(f"--dimensions {dimensions}: choose from {', '.join(DIMENSIONS)}")
    if model is not None and not (model / "model.bin").is_file():
        raise BadOption(f"--model {model}: no model.bin in it")
    return Engine("whisper", model or widened_whisper(dimensions, cache), threads, device)


def _recordings(
    folder: Path | None, model: Path | None, engine: str, cache: Path
) -> list[Recording]:
    if folder is not None:
        return read_recordings(folder)
    return spoken_recordings(
        "micro" if engine == "whisper" and model is None else "ordinary", cache
    )


def _peers(wanted: bool, quick: bool) -> Peers:
    if not wanted:
        return "none"
    return "best" if quick else "all"


def _show(console: Console, report: Report) -> None:
    for table in (latency_table(report), cost_table(report)):
        console.print(table)
    for name, description in report.systems.items():
        console.print(f"[bold]{name}[/]: {description}")
    for note in (*report.notes, *report.doubts()):
        console.print(f"[yellow]note[/] {note}")
    console.print(sustained_table(report))
    for name, value in report.summary().items():
        if not isinstance(value, dict):
            shown = f"{value:.3f}" if isinstance(value, float) else value
            console.print(f"{name:32} {shown}")
