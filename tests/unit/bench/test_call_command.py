from typing import Any

import pytest
from typer.testing import CliRunner

from bench.call import command
from bench.call.plan import FULL, QUICK, parse_loads
from bench.options import BadOption
from speech_server.errors import EngineFailed
from voice_agent.cli import app


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bench", "call", *arguments])


def test_help_explains_the_options() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
    for option in ("--turns", "--callers", "--loads", "--simulated", "--quick", "--json", "--plot"):
        assert option in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--loads", "4,2"], "rising numbers"),
        (["--loads", "many"], "whole numbers"),
        (["--loads", "64"], "to 32"),
        (["--turns", "0"], "--turns"),
        (["--callers", "17"], "16"),
        (["--json", "/no/such/file.json"], "no such directory"),
    ],
)
def test_options_that_cannot_be_used_end_with_their_name(
    arguments: list[str], message: str
) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert message in answer.output


def test_without_voices_for_the_callers_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load_sayings(_: object) -> None:
        raise EngineFailed("flite is not installed")

    monkeypatch.setattr(command, "load_sayings", load_sayings)
    answer = run("--quick")
    assert answer.exit_code == 2
    assert "flite is not installed" in answer.output


def test_a_setting_without_a_value_is_told() -> None:
    answer = run("--setting", "x")
    assert answer.exit_code == 2
    assert "NAME=VALUE" in answer.output


def test_loads_are_read() -> None:
    assert parse_loads("1,4,16") == (1, 4, 16)
    assert parse_loads("0") == ()
    with pytest.raises(BadOption):
        parse_loads("")


def test_what_was_asked_for_wins_over_the_plan() -> None:
    assert FULL.changed(turns=None, beside=None, callers=1, loads=None) == FULL
    changed = QUICK.changed(turns=9, beside=3, callers=2, loads=(1,))
    asked = (changed.turns, changed.beside, changed.callers, changed.loads)
    assert asked == (9, 3, 2, (1,))
    assert changed.time_limit_s == QUICK.time_limit_s
