"""`parley call` up to the network: what it refuses, what it prints, how it ends."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from voice_agent.caller import command
from voice_agent.caller.conversation import TypedLine
from voice_agent.caller.errors import CallFailed, CallFailure
from voice_agent.caller.report import CallError, CallReport, Greeting, Turn
from voice_agent.caller.token_client import JoinTicket
from voice_agent.caller.wav import Utterance

HELLO = Path(__file__).parents[2] / "fixtures" / "conversation" / "1-hello.wav"
TICKET = JoinTicket(server_url="ws://media", participant_token="token")

app = typer.Typer()
app.command()(command.call)


class Calls:
    """Stands in for the network: takes what the command asks for, answers as told."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.report = CallReport()
        self.refusal: CallFailed | None = None
        self.requests: list[object] = []
        self.lines: list[object] = []
        monkeypatch.setattr(command, "read_running_stack", lambda _: None)
        monkeypatch.setattr(command, "fetch_ticket", self._fetch)
        monkeypatch.setattr(command, "hold_conversation", self._hold)

    async def _fetch(self, url: str, request: object) -> JoinTicket:
        self.requests.append((url, request))
        if self.refusal is not None:
            raise self.refusal
        return TICKET

    async def _hold(self, ticket, lines, limits, *, recording, on_greeting, on_turn):  # type: ignore[no-untyped-def]
        self.lines += lines
        if self.report.greeting:
            on_greeting(self.report.greeting)
        for turn in self.report.turns:
            on_turn(turn)
        return self.report


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    return Calls(monkeypatch)


def run(*arguments: str | Path) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, " ".join(result.output.split())


def test_a_call_with_every_turn_answered_ends_well(calls: Calls, tmp_path: Path) -> None:
    calls.report = CallReport(
        greeting=Greeting(reply="Good [morning].", first_sound_s=0.3, duration_s=2.0),
        turns=[
            Turn(
                turn=1,
                kind="voice",
                said="Hello, good morning.",
                heard_by_agent="Hello.",
                reply="Hi!",
                voice_to_voice_s=0.4781,
            )
        ],
    )
    out = tmp_path / "report.json"
    status, output = run(HELLO, "--json", out)
    assert status == 0
    for words in (
        "Good [morning].",
        "Hello, good morning.",
        "heard Hello.",
        "Hi!",
        "478",
        "median",
    ):
        assert words in output
    body = json.loads(out.read_text())
    assert body["ok"] is True
    assert body["turns"][0]["voice_to_voice_s"] == 0.4781


def test_files_are_spoken_in_order_then_texts_are_typed(calls: Calls) -> None:
    second = HELLO.with_name("4-when.wav")
    status, _ = run(
        HELLO, second, "--text", "one", "--text", "two", "--agent", "a", "--persona", "p"
    )
    assert status == 0
    spoken = [line.text for line in calls.lines if isinstance(line, Utterance)]
    assert spoken == ["Hello, good morning.", "When is my appointment?"]
    assert calls.lines[2:] == [TypedLine("one"), TypedLine("two")]
    ((url, request),) = calls.requests  # type: ignore[misc]
    assert url == "http://127.0.0.1:8080"  # type: ignore[has-type]
    assert (request.agent, request.persona) == ("a", "p")  # type: ignore[has-type]


def test_a_failed_call_says_why_and_keeps_what_there_was(calls: Calls, tmp_path: Path) -> None:
    message = "no answer to turn 2: nothing was audible for 30 s"
    calls.report = CallReport(
        turns=[
            Turn(turn=1, kind="voice", said="a", voice_to_voice_s=0.5),
            Turn(turn=2, kind="voice", said="b"),
        ],
        errors=[CallError(code=CallFailure.NO_ANSWER, message=message, turn=2)],
    )
    out = tmp_path / "report.json"
    status, output = run(HELLO, "--json", out)
    assert status == 1
    assert message in output
    assert "500" in output
    assert json.loads(out.read_text())["errors"][0]["code"] == "no_answer"


def test_a_refused_token_is_shown_and_reported(calls: Calls, tmp_path: Path) -> None:
    calls.refusal = CallFailed(CallFailure.TOKEN_REFUSED, "the token server refused the call: full")
    out = tmp_path / "report.json"
    status, output = run(HELLO, "--json", out)
    assert status == 1
    assert "refused the call: full" in output
    body = json.loads(out.read_text())
    assert (body["ok"], body["turns"]) == (False, [])


def test_a_bad_recording_is_refused_before_anything_is_sent(calls: Calls, tmp_path: Path) -> None:
    bad = tmp_path / "bad.wav"
    bad.write_bytes(b"RIFF")
    out = tmp_path / "report.json"
    status, output = run(HELLO, bad, "--json", out)
    assert status == 2
    assert "not a WAV file" in output
    assert calls.requests == []
    assert json.loads(out.read_text())["errors"][0]["code"] == "bad_input"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "nothing to say"),
        (["--text", " "], "--text must hold"),
        (["--text", "x" * 4001], "--text must hold"),
        (["--text", "a"] * 201, "more than 200 turns"),
        (["--text", "a", "--record", "/nowhere/out.wav"], "no folder /nowhere"),
        (["--text", "a", "--json", "/nowhere/out.json"], "cannot write /nowhere/out.json"),
        (["--text", "a", "--timeout", "0"], "--timeout"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    calls: Calls, arguments: list[str], words: str
) -> None:
    status, output = run(*arguments)
    assert status == 2
    assert words in output
    assert calls.requests == []


def test_help_says_what_it_measures(calls: Calls) -> None:
    status, output = run("--help")
    assert status == 0
    for words in ("--record", "--json", "--agent", "caller's ear", "Exit status"):
        assert words in output
