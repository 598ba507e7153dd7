"""Orpheus's speed on a GPU, with random weights of the true dimensions.

    python3 -m bench.gpu.tts.measure --out results

First SNAC alone: what a call takes by slice and batch, and how many streams that is. Then, where
vLLM is installed, listeners in real time on the whole path. Any machine will do to try it:
`--device cpu --small --batches 1,2 --repeats 3 --streams 1,2 --talk 4`.
"""

import argparse
import asyncio
import importlib.util
import json
from pathlib import Path
from typing import Final

import aiohttp
import psutil

from bench.children import PeerUnavailable
from bench.gpu.tts import dummy_orpheus
from bench.gpu.tts.result import Result, path_cells, snac_cells
from bench.gpu.tts.snac_speed import measure_snac
from bench.gpu.tts.whole_path import Models, measure_whole_path, vllm_found
from bench.machine import gpu_name
from bench.tts import random_snac
from speech_server.tts.snac_decoder import SnacUnavailable

_BATCHES: Final = "1,2,4,8,16,32,64"
_STREAMS: Final = "1,8,32,64,128,300"


def measure(options: argparse.Namespace) -> Result:
    """Measure everything; what cannot be measured is said in the notes."""
    dimensions = "small" if options.small else "true"
    result = Result(gpu_name() if options.device == "cuda" else None, dimensions)
    snac = options.cache / f"random-snac-{dimensions}"
    random_snac.write(snac, random_snac.SMALL if options.small else random_snac.TRUE)
    for speed in measure_snac(snac, options.device, options.batches, options.repeats):
        result.snac.append(speed)
        print(" | ".join(snac_cells(speed)), flush=True)
    if not options.whole_path:
        return result
    if not vllm_found():
        result.notes.append("the whole path was left out: vLLM is not installed here")
        return result
    llama = options.cache / f"dummy-orpheus-{dimensions}"
    dummy_orpheus.write(llama, dummy_orpheus.SMALL if options.small else dummy_orpheus.TRUE)
    models = Models(llama, snac, options.memory_share)
    try:
        asyncio.run(_measure_whole_path(models, options, result))
    except (PeerUnavailable, OSError, aiohttp.ClientError, psutil.Error) as error:
        result.notes.append(f"the whole path broke off: {error}")
    return result


async def _measure_whole_path(models: Models, options: argparse.Namespace, result: Result) -> None:
    async for heard in measure_whole_path(models, options.streams, options.talk):
        result.whole_path.append(heard)
        print(" | ".join(path_cells(heard)), flush=True)


def numbers(text: str) -> list[int]:
    """Positive numbers from `1,2,4`.

    Raises:
        argparse.ArgumentTypeError: something else was given.
    """
    try:
        found = [int(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        raise argparse.ArgumentTypeError(f"{text}: give numbers with commas, like 1,2,4")
    return found


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="small dimensions: a trial")
    parser.add_argument("--batches", type=numbers, default=_BATCHES, help=f"default {_BATCHES}")
    parser.add_argument("--repeats", type=int, default=50, help="calls of every shape")
    parser.add_argument("--streams", type=numbers, default=_STREAMS, help=f"default {_STREAMS}")
    parser.add_argument("--talk", type=float, default=20.0, help="seconds of a round, default 20")
    parser.add_argument("--memory-share", type=float, default=0.6, help="of the GPU's, for vLLM")
    parser.add_argument(
        "--whole-path", action=argparse.BooleanOptionalAction, default=True, help="needs vLLM"
    )
    parser.add_argument("--cache", type=Path, default=Path(".parley/bench"))
    parser.add_argument("--out", type=Path, default=Path())
    options = parser.parse_args()
    missing = [name for name in ("torch", "snac") if not importlib.util.find_spec(name)]
    if missing:
        parser.error(f"this Python lacks {' and '.join(missing)}; see bench/README.md")
    options.out.mkdir(parents=True, exist_ok=True)
    try:
        result = measure(options)
    except SnacUnavailable as error:  # no GPU, most of all
        parser.error(f"--device {options.device}: {error}")
    text = json.dumps(result.to_json(), indent=2)
    (options.out / "tts-gpu.json").write_text(f"{text}\n", encoding="utf-8")
    (options.out / "tts-gpu.md").write_text(result.markdown(), encoding="utf-8")


if __name__ == "__main__":
    main()
