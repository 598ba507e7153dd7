"""`python -m bench.reading`: which words the built-in recogniser reads, in a browser's sound and a
telephone's, by the library of its wheel and by our search beside it.

No call is made: the recorded set goes through Opus, and before that through G.711 for a telephone,
is cut as the speech server cuts it, and every reader is given the same samples in turn.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import numpy as np
import typer
from moonshine_voice import ModelArch, Transcriber, get_model_path
from rich.table import Table

from bench.call.sayings import Saying, spread
from bench.cells import ms, percent
from bench.console import wide_console
from bench.finished_turns import MostTurns, finished_turns
from bench.machine import as_result
from bench.offline_paths import OPUS_BITS_PER_S, PATHS, utterance
from bench.options import JsonFile
from bench.phone.lines import conversation
from bench.stt.word_errors import spelled, word_errors, words
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm, Utterance
from speech_server.stt.moonshine import BEAM_WIDTH, MoonshineEngine

LIBRARY: Final = "the wheel's library"
_WIDTHS: Final = (1, 3, BEAM_WIDTH, 8)
_QUIET_TAIL_SAMPLES: Final = round(0.2 * SAMPLE_RATE_HZ)
"""The library is given the same digital silence behind the audio as our engine gives itself."""
_PACKAGES: Final = ("parley", "moonshine-voice", "onnxruntime", "av", "numpy")

Reader = Callable[[Pcm], str]
"""Audio of one utterance in, its words out."""


@dataclass
class Score:
    """How one reader did on one path."""

    path: str
    reader: str
    words: int = 0
    wrong: int = 0
    spent_s: list[float] = field(default_factory=list)
    """Processor time of each utterance."""


def reading(most: MostTurns = None, json_file: JsonFile = None) -> None:
    """Count the words that the built-in recogniser gets wrong, and the time it takes."""
    finished = spread(finished_turns(json_file), most)
    scores = compare([*conversation(), *finished], _readers())
    wide_console().print(_table(scores))
    if json_file is not None:
        text = json.dumps(_report(scores, len(finished)), indent=2)
        json_file.write_text(f"{text}\n", encoding="utf-8")


def compare(sayings: Iterable[Saying], readers: Mapping[str, Reader]) -> list[Score]:
    """Every reader on every saying by every path, one after the other on the same samples."""
    scores = [Score(path, reader) for path in PATHS for reader in readers]
    for saying in sayings:
        truth = words(spelled(saying.utterance.text))
        for path, heard_by in PATHS.items():
            pcm = utterance(heard_by(saying))
            for score in scores:
                if score.path != path:
                    continue
                began_s = time.process_time()
                text = readers[score.reader](pcm)
                score.spent_s.append(time.process_time() - began_s)
                score.words += len(truth)
                score.wrong += word_errors(truth, words(spelled(text)))
    return scores


def _readers() -> dict[str, Reader]:
    # As our server had it: with more threads it is hardly sooner, and they wait for each other.
    os.environ.setdefault("MOONSHINE_ORT_SINGLE_THREAD", "1")
    library = Transcriber(
        str(get_model_path("tiny-en")),
        model_arch=ModelArch.TINY,
        # Its own voice activity detector would cut a quiet lead-in off as a line of its own.
        options={"vad_threshold": "0"},
    )

    def by_library(pcm: Pcm) -> str:
        audio = np.pad(pcm, (0, _QUIET_TAIL_SAMPLES)).tolist()
        heard = library.transcribe_without_streaming(audio, SAMPLE_RATE_HZ)
        return " ".join(line.text.strip() for line in heard.lines)

    ours = {f"{width} attempt{'s'[: width > 1]}": _by_us(width) for width in _WIDTHS}
    return {LIBRARY: by_library, **ours}


def _by_us(width: int) -> Reader:
    engine = MoonshineEngine(width)
    engine.load()

    def read(pcm: Pcm) -> str:
        (found,) = engine.transcribe([Utterance(pcm, "en")])
        if isinstance(found, Exception):
            raise found
        return found.text

    return read


def _table(scores: list[Score]) -> Table:
    table = Table(title="Words that the built-in recogniser gets wrong")
    for name in ("path", "reader", "words", "wrong", "%", "processor time, ms an utterance"):
        table.add_column(name, justify="left" if name in ("path", "reader") else "right")
    for one in scores:
        table.add_row(
            one.path, one.reader, str(one.words), str(one.wrong), percent(one.wrong / one.words),
            ms(sum(one.spent_s) / len(one.spent_s)),
        )  # fmt: skip
    return table


def _report(scores: list[Score], turns: int) -> dict[str, Any]:
    def of(path: str, reader: str) -> Score:
        return next(one for one in scores if (one.path, one.reader) == (path, reader))

    ours = f"{BEAM_WIDTH} attempts"
    summary = {
        f"{path}_{what}_wrong": of(path, reader).wrong / of(path, reader).words
        for path in PATHS
        for what, reader in (("library", LIBRARY), ("ours", ours))
    }
    spent = {
        reader: sum(sum(of(path, reader).spent_s) for path in PATHS) for reader in (LIBRARY, ours)
    }
    return as_result(
        {**summary, "processor_time_ratio": spent[ours] / spent[LIBRARY]},
        _PACKAGES,
        conditions={"turns": turns, "opus_bits_per_s": OPUS_BITS_PER_S},
        scores=[{**asdict(one), "spent_s": sum(one.spent_s) / len(one.spent_s)} for one in scores],
    )


if __name__ == "__main__":
    typer.run(reading)
