import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.llm import systems
from bench.llm.asking import Answer
from bench.llm.benchmark import Benchmark
from voice_agent.cli import app

RUNNER = CliRunner()
ANSWER = Answer(0.1, (0.01,), 1000, 900, 2)


def run(*arguments: str) -> Any:
    return RUNNER.invoke(app, ["bench", "llm", *arguments])


def test_help_explains_the_options() -> None:
    answer = run("--help")
    assert answer.exit_code == 0
    for option in ("--url", "--model", "--callers", "--json", "--plot", "--quick"):
        assert option in answer.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--callers", "4,2"], "rising numbers"),
        (["--callers", "0,2"], "rising numbers"),
        (["--callers", "1,x"], "whole numbers"),
        (["--setting", "x"], "NAME=VALUE"),
        (["--json", "/no/such/file.json"], "no such directory"),
        (["--url", "localhost:8000"], "base URL"),
        (["--prompt-tokens", "5"], "200"),
        (["--model", "/no/such/model"], "/no/such/model"),
    ],
)
def test_options_that_cannot_be_used_end_with_their_name(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr(systems, "PYTHON", Path(__file__))
    answer = run(*arguments)
    assert answer.exit_code == 2
    assert message in answer.output


def test_without_vllm_the_fix_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(systems, "PYTHON", tmp_path / "python")
    answer = run()
    assert answer.exit_code == 2
    assert "make .venv-vllm" in answer.output
    assert "--url" in answer.output


@pytest.mark.parametrize(
    ("breaks_with", "status"),
    [
        (RuntimeError("the language server did not start"), 1),
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
            benchmark.report.cold.append(ANSWER)
            benchmark.report.cached.append(ANSWER)
        raise breaks_with

    monkeypatch.setattr(Benchmark, "run", break_off)
    file = tmp_path / "result.json"
    answer = run("--url", "http://127.0.0.1:9/v1", "--json", str(file))
    assert answer.exit_code == status
    assert file.is_file() is measured
    if measured:
        report = json.loads(file.read_text())
        assert report["summary"]["prefix_cached_share"] == 0.9
        assert report["notes"]
