"""`parley bench`: the measurements, which live in the checkout and are not installed."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

_BENCHMARKS = {
    "stt": "bench.stt.command",
    "tts": "bench.tts.command",
    "llm": "bench.llm.command",
    "call": "bench.call.command",
    "phone": "bench.phone.command",
    "turns": "bench.turns.command",
}
"""Subcommand → module of the checkout that holds the function of the same name."""


class _Benchmarks(TyperGroup):
    """Imports a benchmark when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_BENCHMARKS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _BENCHMARKS:
            return None
        checkout = _checkout(Path.cwd())
        if checkout is None:
            ctx.fail(
                "the benchmarks are not part of the installed package. Clone the repository and "
                "run `make setup` and `.venv/bin/parley bench` in it."
            )
        if str(checkout) not in sys.path:
            sys.path.insert(0, str(checkout))
        single = typer.Typer(add_completion=False)
        single.command(cmd_name)(getattr(import_module(_BENCHMARKS[cmd_name]), cmd_name))
        return get_command(single)


bench = typer.Typer(cls=_Benchmarks, no_args_is_help=True, add_completion=False)


@bench.callback()
def _bench() -> None:
    """Measure a part of Parley on this machine, with peers beside it."""


def _checkout(working_folder: Path) -> Path | None:
    """The checkout that this package is run from, or the one that is the working folder."""
    for folder in (Path(__file__).resolve().parents[2], working_folder):
        if (folder / "bench" / "stt" / "command.py").is_file():
            return folder
    return None
