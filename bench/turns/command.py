"""`python -m bench.turns`: how well the end of a caller's turn is decided."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from bench.cells import ms, percent
from bench.console import wide_console
from bench.machine import hardware, versions
from bench.options import BAD_INPUT, BadOption, check_outputs, fail
from bench.turns.evaluation import PARTS, Heard, Result, evaluate, turns_of
from bench.turns.fit import fit_weights, tune_threshold
from bench.turns.floor import FloorResult, evaluate_floor
from bench.turns.recorded_set import recorded_set
from bench.turns.replay import (
    EAGER_LIMIT_S,
    EAGER_THRESHOLD,
    READ_DELAY_S,
    Rule,
    fixed_silence,
    framework,
    ours,
)
from bench.turns.trace import traces
from speech_server.errors import EngineFailed
from voice_agent.settings import home_dir
from voice_agent.turns.endpointer import EndpointingSettings
from voice_agent.turns.scorer import LogisticScorer, Weights
from voice_agent.turns.tuned import THRESHOLD, WEIGHTS

OURS: Final = "ours"
OURS_GPU: Final = "ours, words sooner"
OURS_EAGER: Final = "ours, eager, words sooner"
STOCK: Final = "v1-mini, stock"
_SOON_S: Final = 0.03
"""Words as soon as a recogniser on a GPU has them, seconds: assumed, and said so."""
_PACKAGES: Final = ("livekit-agents", "livekit-local-inference", "moonshine-voice", "numpy")


def turns(
    hard_limit: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.2, max=1.0, help="Our longest wait.")
    ] = 1.0,
    whole_limit: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", min=0.2, max=1.0, help="The same where the words may be all."
        ),
    ] = 0.65,
    fit: Annotated[
        bool,
        typer.Option("--fit", help="Fit weights and threshold on the tuned part, use them."),
    ] = False,
    cut_off_rate: Annotated[
        float,
        typer.Option(min=0, max=0.5, help="With --fit: share of tuned turns that may be cut off."),
    ] = 0.07,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the result here.")
    ] = None,
) -> None:
    """Replay rules for the end of a turn over the recorded set.

    The set is spoken and heard by the built-in models on first use, which takes about ten minutes
    of one core. Thresholds come from the tuned part alone; other sentences by other voices, held
    out, are reported apart.

    Exit status: 0 measured; 2 the options cannot be used.
    """
    console = wide_console()
    try:
        check_outputs(json_file, None)
        cache = home_dir() / "bench"
        recorded = recorded_set(cache)
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    except EngineFailed as error:
        fail(f"the recorded set cannot be spoken: {error}", BAD_INPUT)
    heard: list[Heard] = list(zip(recorded, traces(recorded, cache), strict=True))
    weights, threshold = WEIGHTS, THRESHOLD
    if fit:
        tuned = [trace for _, trace in turns_of(heard, "tuned")]
        weights = fit_weights(tuned)
        limits = EndpointingSettings(threshold, hard_limit, whole_limit)
        threshold = tune_threshold(tuned, weights, limits, cut_off_rate)
        _show_fit(console, weights, threshold)
    settings = EndpointingSettings(threshold, hard_limit, whole_limit)
    rules = _rules(weights, settings)
    results = [
        evaluate(name, rule, part, turns_of(heard, part))
        for part in PARTS
        for name, rule in rules.items()
    ]
    console.print(_table(results))
    floor = [evaluate_floor(part, heard, LogisticScorer(weights), settings) for part in PARTS]
    console.print(_floor_table(floor))
    if json_file is not None:
        json_file.write_text(
            f"{json.dumps(_report(results, floor, threshold), indent=2)}\n", "utf-8"
        )


def _rules(weights: Weights, settings: EndpointingSettings) -> dict[str, Rule]:
    scorer = LogisticScorer(weights)
    eager = replace(settings, threshold=EAGER_THRESHOLD, whole_limit_s=EAGER_LIMIT_S)
    return {
        OURS: ours(scorer, settings),
        OURS_GPU: ours(scorer, settings, _SOON_S),
        OURS_EAGER: ours(scorer, eager, _SOON_S),
        STOCK: framework(min_delay_s=0.3, max_delay_s=2.5),
        "v1-mini, no floor, 1 s": framework(min_delay_s=0.0, max_delay_s=1.0),
        "0.5 s of silence": fixed_silence(0.5),
        "0.25 s of silence": fixed_silence(0.25),
    }


def _table(results: list[Result]) -> Table:
    table = Table(title="The end of a caller's turn, from their last sound")
    for name in ("part", "rule", "turns", "cut off", "%", "% of those with pauses"):
        table.add_column(name, justify="left" if name in ("part", "rule") else "right")
    for name in ("delay p50 ms", "p95 ms", "unfinished p50 ms"):
        table.add_column(name, justify="right")
    for part in PARTS:
        for result in results:
            if result.part == part:
                table.add_row(
                    part, result.rule, str(result.turns), str(result.cut_off),
                    percent(result.cut_off_rate), percent(result.cut_off_rate_in_pauses),
                    ms(result.delay_p50_s), ms(result.delay_p95_s), ms(result.trailing_p50_s),
                )  # fmt: skip
        table.add_section()
    return table


def _floor_table(results: list[FloorResult]) -> Table:
    table = Table(title="Who has the floor when a caller speaks over the agent")
    for name in ("part", "back-channels", "ignored", "silent p50 ms", "p95 ms"):
        table.add_column(name, justify="left" if name == "part" else "right")
    for name in ("interruptions", "heeded", "told to be silent p50 ms", "p95 ms", "max ms"):
        table.add_column(name, justify="right")
    for one in results:
        table.add_row(
            one.part, str(one.backchannels), str(one.ignored), ms(one.silent_p50_s),
            ms(one.silent_p95_s), str(one.interruptions), str(one.heeded), ms(one.stopped_p50_s),
            ms(one.stopped_p95_s), ms(one.stopped_max_s),
        )  # fmt: skip
    return table


def _report(results: list[Result], floor: list[FloorResult], threshold: float) -> dict[str, Any]:
    def of(rule: str) -> Result:
        return next(r for r in results if r.rule == rule and r.part == "held_out")

    return {
        "summary": {
            "false_cutoff_rate": of(OURS).cut_off_rate,
            "stock_false_cutoff_rate": of(STOCK).cut_off_rate,
            "delay_p50_s": of(OURS).delay_p50_s,
            "delay_p95_s": of(OURS).delay_p95_s,
            "stock_delay_p50_s": of(STOCK).delay_p50_s,
            "stock_delay_p95_s": of(STOCK).delay_p95_s,
            "backchannels_ignored_rate": sum(one.ignored for one in floor)
            / sum(one.backchannels for one in floor),
            "interruptions_heeded_rate": sum(one.heeded for one in floor)
            / sum(one.interruptions for one in floor),
        },
        "conditions": {"threshold": threshold, "words_after_s": READ_DELAY_S},
        "results": [{**asdict(result), "cut_off_rate": result.cut_off_rate} for result in results],
        "floor": [asdict(one) for one in floor],
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": hardware(),
        "versions": versions(_PACKAGES),
    }


def _show_fit(console: Console, weights: Weights, threshold: float) -> None:
    console.print("For voice_agent/turns/tuned.py:")
    for kind, value in weights.ending.items():
        console.print(f"  Ending.{kind.name}: {value},")
    for part in ("sound", "silence", "tone", "pitch", "fade", "length"):
        console.print(f"  {part}={getattr(weights, part)},")
    console.print(f"  THRESHOLD = {threshold}")
