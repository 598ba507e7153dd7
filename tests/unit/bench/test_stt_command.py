import json
import wave
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.stt.benchmark import Benchmark
from tests.unit.bench.measured import measured
from voice_agent import bench_command
from voice_agent.cli import app

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path / "home"))
    return tmp_path


def run(*arguments: str) -> Any:
    return RUNNER.invoke(app, ["bench", *arguments])


def test_the_benchmarks_are_listed() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
    assert "stt" in answer.output
    assert "tts" in answer.output


def test_help_explains_the_options() -> None:
    answer = run("stt", "--help")
    assert answer.exit_code == 0
    for option in ("--streams", "--bound", "--json", "--quick", "--engine", "--plot"):
        assert option in answer.output


def test_outside_a_checkout_the_fix_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_command, "__file__", str(tmp_path / "a" / "b" / "c.py"))
    monkeypatch.chdir(tmp_path)
    answer = run("stt", "--quick")
    assert answer.exit_code == 2
    assert "Clone the repository" in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--streams", "4,2"], "rising numbers"),
        (["--setting", "x"], "NAME=VALUE"),
        (["--dimensions", "huge"], "choose from tiny"),
        (["--model", "/no/such"], "no model.bin"),
        (["--engine", "moonshine", "--recordings", "/no/such"], "no .wav"),
        (["--json", "/no/such/file.json"], "no such directory"),
        (["--engine", "parrot"], "parrot"),
        (["--bound", "0"], "0.05"),
    ],
)
def test_options_that_cannot_be_used_end_with_their_name(
    arguments: list[str], message: str
) -> None:
    answer = run("stt", *arguments)
    assert answer.exit_code == 2
    assert message in answer.output


def test_a_missing_library_is_named_with_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "faster_whisper", None)
    answer = run("stt")
    assert answer.exit_code == 2
    assert "pip install 'parley[whisper]'" in answer.output


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    folder = tmp_path / "recordings"
    folder.mkdir()
    with wave.open(str(folder / "a.wav"), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(b"\1\0" * 16_000)
    (folder / "a.txt").write_text("Hello.")
    return folder


@pytest.mark.parametrize(
    ("breaks_with", "status"),
    [
        (RuntimeError("the server did not start"), 1),
        (ConnectionError("nobody there"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
@pytest.mark.parametrize("rounds", [0, 1])
def test_what_was_measured_outlives_a_run_that_breaks_off(
    tmp_path: Path,
    recordings: Path,
    monkeypatch: pytest.MonkeyPatch,
    breaks_with: BaseException,
    status: int,
    rounds: int,
) -> None:
    async def break_off(benchmark: Benchmark) -> None:
        benchmark.report.systems = {"parley": "ours"}
        benchmark.report.rounds += [measured("parley", 1, 0.1)] * rounds
        raise breaks_with

    monkeypatch.setattr(Benchmark, "run", break_off)
    result = tmp_path / "result.json"
    arguments = ["--engine", "moonshine", "--recordings", str(recordings), "--json", str(result)]
    answer = run("stt", *arguments)
    assert answer.exit_code == status
    assert (str(breaks_with) or "interrupted") in answer.output
    assert result.exists() is bool(rounds)
    if rounds:
        assert json.loads(result.read_text())["rounds"][0]["streams"] == 1
