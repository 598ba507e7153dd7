import os
import shutil
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.options import BadOption
from bench.phone import command
from bench.phone.lines import conversation
from bench.phone.plan import FULL, QUICK, parse_ladder
from speech_server.errors import EngineFailed
from tests import phone_network
from voice_agent.caller.sound import FRAME_SAMPLES
from voice_agent.cli import app


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["bench", "phone", *arguments])


def test_help_explains_the_options() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
    options = (
        "--lines",
        "--calls",
        "--in-a-row",
        "--at-once",
        "--ladder",
        "--quick",
        "--json",
        "--plot",
    )
    for option in options:
        assert option in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ladder", "2,4"], "begin with 1"),
        (["--ladder", "1,4,2"], "rising numbers"),
        (["--ladder", "1,64"], "to 32"),
        (["--ladder", "many"], "whole numbers"),
        (["--at-once", "33"], "32"),
        (["--lines", "6"], "5"),
        (["--calls", "-1"], "--calls"),
        (["--setting", "x"], "NAME=VALUE"),
        (["--json", "/no/such/file.json"], "no such directory"),
    ],
)
def test_options_that_cannot_be_used_end_with_their_name(
    arguments: list[str], message: str
) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert message in answer.output


def test_where_no_telephone_can_be_called_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "why_no_telephone", lambda: "ip is not installed")
    answer = run("--quick")
    assert answer.exit_code == 2
    assert "no telephone can be called here: ip is not installed" in answer.output


def test_without_voices_for_the_callers_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def load_sayings(_: object) -> None:
        raise EngineFailed("flite is not installed")

    monkeypatch.setattr(command, "load_sayings", load_sayings)
    monkeypatch.setattr(command, "why_no_telephone", lambda: None)
    monkeypatch.setattr(command, "restart_inside", lambda _: None)
    answer = run("--quick")
    assert answer.exit_code == 2
    assert "flite is not installed" in answer.output


@pytest.mark.parametrize(("inside", "becomes"), [(False, 1), (True, 0)])
def test_the_command_starts_anew_in_a_network_of_its_own_once(
    monkeypatch: pytest.MonkeyPatch, inside: bool, becomes: int
) -> None:
    started: list[tuple[str, ...]] = []
    monkeypatch.setattr(phone_network, "is_inside", lambda: inside)
    monkeypatch.setattr(os, "execvp", lambda _, command: started.append(command))
    phone_network.restart_inside(["python", "parley", "bench", "phone"])
    assert len(started) == becomes
    assert all(one[-3:] == ("parley", "bench", "phone") for one in started)


def test_without_redis_or_livekit_sip_the_reason_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(phone_network, "is_inside", lambda: True)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert "redis-server" in (phone_network.why_no_telephone() or "")
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(phone_network, "livekit_sip", lambda: None)
    assert "parley setup" in (phone_network.why_no_telephone() or "")


def test_a_ladder_is_read() -> None:
    assert parse_ladder("1,4,16") == (1, 4, 16)
    assert parse_ladder("0") == ()
    with pytest.raises(BadOption):
        parse_ladder("")


def test_what_was_asked_for_wins_over_the_plan() -> None:
    unchanged = FULL.changed(
        lines=None, conversations=None, calls=None, in_a_row=None, at_once=None, ladder=None
    )
    assert unchanged == FULL
    changed = QUICK.changed(lines=5, conversations=2, calls=3, in_a_row=0, at_once=0, ladder=())
    assert (changed.lines, changed.conversations) == (5, 2)
    assert (changed.calls, changed.in_a_row) == (3, 0)
    assert (changed.at_once, changed.ladder) == (0, ())
    assert changed.time_limit_s == QUICK.time_limit_s


def test_the_conversation_ends_each_line_with_its_last_sound() -> None:
    lines = conversation()
    assert len(lines) == FULL.lines
    assert lines[1].utterance.text == "What are your opening hours?"
    for line in lines:
        last = len(line.utterance.samples) - 1
        assert 0 <= last - line.utterance.last_audible < FRAME_SAMPLES
