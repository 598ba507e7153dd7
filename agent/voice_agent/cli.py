"""The `parley` command; each subcommand lives beside what it does."""

import logging
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

_COMMANDS = {
    "run": "voice_agent.stack.command",
    "setup": "voice_agent.stack.command",
    "doctor": "voice_agent.stack.doctor_command",
    "call": "voice_agent.caller.command",
    "phone": "voice_agent.phone.command",
    "bench": "voice_agent.bench_command",
}
"""Subcommand → module that holds the function, or the group of commands, of the same name."""


class _LazyGroup(TyperGroup):
    """Imports a subcommand when it is used: `parley doctor` works where WebRTC does not load."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _COMMANDS:
            return None
        found = getattr(import_module(_COMMANDS[cmd_name]), cmd_name)
        if isinstance(found, typer.Typer):
            return get_command(found)
        single = typer.Typer(add_completion=False)
        single.command(cmd_name)(found)
        return get_command(single)


app = typer.Typer(cls=_LazyGroup, no_args_is_help=True, add_completion=False)


@app.callback()
def _parley() -> None:
    """Parley: a self-hosted voice agent."""


def main() -> None:
    """Entry point of the `parley` command."""
    try:
        app()
    except SystemExit as ended:
        if "livekit.rtc" in sys.modules:
            _end_at_once(ended.code)
        raise


def _end_at_once(code: str | int | None) -> None:
    """End the process without taking the interpreter down.

    The threads of LiveKit's native library tell Python what they log, also after the last call; one
    that does so while the interpreter is taken down aborts the process, with status 134 in place
    of the command's own (1 of 36 calls on a busy machine, livekit 1.1.21).
    """
    logging.shutdown()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):  # nobody reads any more
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))
