"""Whisper of true large-v3-turbo dimensions on a GPU: one utterance alone, then many callers.

    python3 -m bench.gpu.stt.measure --out results

Makes the checkpoint on the spot, measures 10 s of audio through the engine itself, then starts the
speech server and lets 1 to 200 real-time callers talk to it. Any machine will do to try it:
`--device cpu --dimensions tiny --streams 1,2 --talk 4`.
"""

import argparse
import asyncio
import json
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console

from bench.cells import WIDTH
from bench.machine import gpu_name
from bench.percentiles import Percentiles
from bench.stt.benchmark import Benchmark, Peers
from bench.stt.plan import Plan, parse_steps
from bench.stt.recordings import RATE_HZ, Recording, read_recordings
from bench.stt.systems import Engine
from bench.stt.tables import cost_table, latency_table
from bench.stt.widened_whisper import DIMENSIONS, widened_whisper
from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine, WhisperOptions
from voice_agent.settings import home_dir

_STREAMS: Final = "1,8,25,64,100,200"
_SINGLE_S: Final = 10.0
_WARM_UP: Final = 5
_JOIN_S: Final = 4.0
_INTERIM_S: Final = 0.5
"""2 Hz."""


def measure_single(
    model: Path, device: str, audio: np.ndarray, repeats: int, word_times: bool = False
) -> dict[str, Any]:
    """Time from an utterance to its transcript, in this process, nothing else running.

    Args:
        model: directory in faster-whisper's format.
        device: `cuda` or `cpu`.
        audio: float32, (samples,), 16 kHz.
        repeats: how many times.
        word_times: whether to look for word times as well.
    """
    engine = WhisperEngine(WhisperOptions(str(model), device, word_times=word_times))  # type: ignore[arg-type]
    engine.load()
    utterance = Utterance(audio.astype(np.float32), "en", None)
    took_s = []
    text = ""
    for index in range(_WARM_UP + repeats):
        began = time.perf_counter()
        (heard,) = engine.transcribe([utterance])
        if not isinstance(heard, Transcript):
            raise RuntimeError(f"the model failed: {heard}") from heard
        if index >= _WARM_UP:
            took_s.append(time.perf_counter() - began)
        text = heard.text
    engine.close()
    found = Percentiles.of(took_s)
    assert found is not None
    return {"audio_s": len(audio) / RATE_HZ, "text": text, "repeats": repeats} | asdict(found)


def ten_seconds(recordings: list[Recording]) -> np.ndarray:
    """Speech of exactly 10 s: recordings one after the other, the rest filled with quiet."""
    wanted = round(_SINGLE_S * RATE_HZ)
    quiet = np.random.default_rng(1).normal(0.0, 2e-4, wanted)
    end = 0
    for recording in recordings:
        pcm = np.frombuffer(recording.pcm, "<i2") / 2**15
        if end + len(pcm) > wanted:
            break
        quiet[end : end + len(pcm)] += pcm
        end += len(pcm)
    return quiet


def markdown(result: dict[str, Any]) -> str:
    """The result as a page for people."""
    single = result["single"]
    lines = [
        f"# Whisper {result['dimensions']} on {result['gpu'] or 'CPU'}",
        "",
        f"One utterance of {single['audio_s']:g} s alone: p50 {_ms(single['p50'])} ms, "
        f"p95 {_ms(single['p95'])} ms.",
        "",
        "| server | streams | final p50 ms | p95 | after Finalize p95 | interims/s | batch mean "
        "| engine busy | cores | WER % | offline % | lost |",
        f"|---|{'---:|' * 11}",
    ]
    for row in result["report"]["rounds"]:
        final, after, load = (
            row["final_s"] or {},
            row["after_finalize_s"] or {},
            row["load"],
        )
        cells = [
            row["system"],
            row["streams"],
            *(_ms(value) for value in (final.get("p50"), final.get("p95"), after.get("p95"))),
            _number(row["interim_hz"], 1),
            _number(load["batch_mean"], 1),
            _number(load["engine_busy"], 2),
            _number(load["cpu_cores"], 2),
            *(_number(100 * rate, 1) if rate is not None else "" for rate in _rates(row)),
            row["lost"] + row["refused"],
        ]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    notes = [f"- {note}" for note in result["report"]["notes"]]
    return "\n".join([*lines, "", *notes, ""])


def _rates(row: dict[str, Any]) -> tuple[float | None, float | None]:
    return row["wer"], row["offline_wer"]


def _ms(value_s: float | None) -> str:
    return "never" if value_s is None else f"{1000 * value_s:.1f}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure everything."""
    console = Console(highlight=False, width=WIDTH)
    cache = options.cache
    console.print(f"making a Whisper of the dimensions of {options.dimensions} …")
    model = widened_whisper(options.dimensions, cache)
    recordings = read_recordings(cache / "recordings-micro")
    single = measure_single(model, options.device, ten_seconds(recordings), options.repeats)
    console.print(f"{_SINGLE_S:g} s of audio: p50 {_ms(single['p50'])} ms")
    engine = Engine("whisper", model, options.cpu_threads, options.device)
    # No step is left out: the curve beyond the bound is wanted as well.
    steps = parse_steps(options.streams)
    plan = Plan(
        steps,
        steps,
        _JOIN_S,
        options.talk,
        second_chance=False,
        finals_only=options.peers,
        bound_s=options.bound,
        give_up_s=None,
    )
    settings = {"stt_interim_interval_s": str(_INTERIM_S)} | dict(
        setting.split("=", 1) for setting in options.setting
    )
    peers: Peers = "best" if options.peers else "none"
    benchmark = Benchmark(engine, recordings, plan, settings, peers, cache, console)
    report = asyncio.run(benchmark.run())
    for table in (latency_table(report), cost_table(report)):
        console.print(table)
    return {
        "gpu": gpu_name() if options.device == "cuda" else None,
        "dimensions": options.dimensions,
        "single": single,
        "report": report.to_json(),
    }


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--dimensions", choices=tuple(DIMENSIONS), default="large-v3-turbo")
    parser.add_argument("--streams", default=_STREAMS, help=f"default {_STREAMS}")
    parser.add_argument("--talk", type=float, default=20.0, help="seconds of a round, default 20")
    parser.add_argument("--bound", type=float, default=0.25, help="seconds, of the p95")
    parser.add_argument("--repeats", type=int, default=100, help="of the utterance alone")
    parser.add_argument("--cpu-threads", type=int, default=4)
    parser.add_argument("--peers", action="store_true", help="one request, one decode beside it")
    parser.add_argument("--setting", action="append", default=[], help="of our server, NAME=VALUE")
    parser.add_argument("--cache", type=Path, default=home_dir() / "bench")
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    result = run(options)
    text = json.dumps(result, indent=2)
    (options.out / "stt-gpu.json").write_text(f"{text}\n", encoding="utf-8")
    (options.out / "stt-gpu.md").write_text(markdown(result), encoding="utf-8")


if __name__ == "__main__":
    main()
