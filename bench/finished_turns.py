"""The recorded set for the commands that read its words: `bench.reading` and `bench.noise`."""

from pathlib import Path
from typing import Annotated

import typer

from bench.call.sayings import UNFINISHED, Saying, load_sayings
from bench.options import BAD_INPUT, BadOption, check_outputs, fail
from speech_server.errors import EngineFailed
from voice_agent.settings import home_dir

MostTurns = Annotated[
    int | None, typer.Option("--turns", min=1, help="Read this many turns, not all.")
]


def finished_turns(json_file: Path | None) -> list[Saying]:
    """Its turns, but for those that the caller leaves unfinished.

    Args:
        json_file: where the result is to go, which is seen to beforehand.

    Raises:
        typer.Exit: there are none, or the file cannot be written; why has been said.
    """
    try:
        check_outputs(json_file, None)
        turns = load_sayings(home_dir() / "bench").turns
    except BadOption as error:
        fail(str(error), BAD_INPUT)
    except EngineFailed as error:
        fail(f"the recorded set cannot be spoken: {error}", BAD_INPUT)
    return [turn for turn in turns if turn.kind != UNFINISHED]
