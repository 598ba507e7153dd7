import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.tts import systems
from bench.tts.benchmark import Benchmark
from tests.unit.bench.spoken_texts import heard
from voice_agent.cli import app

RUNNER = CliRunner()


def run(*arguments: str) -> Any:
    return RUNNER.invoke(app, ["bench", "tts", *arguments])


def test_help_explains_the_options() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
    for option in ("--engine", "--model", "--rates", "--json", "--plot", "--quick"):
        assert option in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rates", "4,2"], "rising numbers"),
        (["--setting", "x"], "NAME=VALUE"),
        (["--texts", "/no/such"], "/no/such"),
        (["--engine", "flite", "--model", "/tmp"], "takes no model"),
        (["--json", "/no/such/file.json"], "no such directory"),
        (["--engine", "parrot"], "parrot"),
        (["--bound", "0"], "0.02"),
    ],
)
def test_options_that_cannot_be_used_end_with_their_name(
    arguments: list[str], message: str
) -> None:
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert message in answer.output


def test_without_vllm_the_fix_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems, "PYTHON", tmp_path / "python")
    answer = run("--engine", "orpheus")
    assert answer.exit_code == 2
    assert "make .venv-vllm" in answer.output


def test_a_model_that_is_none_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems, "PYTHON", Path(__file__))
    answer = run("--engine", "orpheus", "--model", str(tmp_path))
    assert answer.exit_code == 2
    assert "no config.json" in answer.output


@pytest.mark.parametrize(
    ("breaks_with", "status"),
    [
        (RuntimeError("the server did not start"), 1),
        (ConnectionError("nobody there"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
@pytest.mark.parametrize("measured", [False, True])
def test_what_was_measured_outlives_a_run_that_breaks_off(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    breaks_with: BaseException,
    status: int,
    measured: bool,
) -> None:
    async def break_off(benchmark: Benchmark) -> None:
        if measured:
            benchmark.report.codec = {"summary": {"frames_lost": 0}}
            benchmark.report.rounds.append(heard("parley", 1, 0.1))
        raise breaks_with

    monkeypatch.setattr(Benchmark, "run", break_off)
    result = tmp_path / "result.json"
    answer = run("--json", str(result))
    assert answer.exit_code == status
    assert (str(breaks_with) or "interrupted") in answer.output
    assert result.exists() is measured
    if measured:
        written = json.loads(result.read_text())
        assert written["summary"]["frames_lost"] == 0
        assert written["rounds"][0]["step"] == 1
