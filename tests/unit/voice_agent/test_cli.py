import subprocess
import sys

import pytest

PROGRAM = """
import atexit, sys
import typer
from voice_agent import cli
{before}

cli.app = typer.Typer()

@cli.app.command()
def end() -> None:
    print("said")
    raise typer.Exit(3)

atexit.register(print, "taken down")
sys.argv = ["parley"]
cli.main()
"""


@pytest.mark.parametrize(
    ("before", "printed"),
    [("", ["said", "taken down"]), ("import livekit.rtc", ["said"])],
)
def test_the_interpreter_is_not_taken_down_around_webrtc(before: str, printed: list[str]) -> None:
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 3, ended.stderr
    assert ended.stdout.splitlines() == printed
