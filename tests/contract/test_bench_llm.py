"""The whole benchmark on real vLLM, with a model of random weights."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.vllm_environment import MISSING, PYTHON
from voice_agent.cli import app

pytestmark = [
    pytest.mark.skipif(not PYTHON.is_file(), reason=MISSING),
    pytest.mark.timeout(900),  # starting vLLM on a busy CPU takes minutes
]


def test_quick_measures_all_that_the_summary_promises(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    arguments = ["--quick", "--prompt-tokens", "1000", "--callers", "1,2", "--json", str(file)]
    answer = CliRunner().invoke(app, ["bench", "llm", *arguments])
    assert answer.exit_code == 0, answer.output
    report: dict[str, Any] = json.loads(file.read_text())
    summary = report["summary"]
    # of all tokens of a prompt: the prefix whole, the question not; without the prefix 0
    assert summary["prefix_cached_share"] >= 0.9
    assert summary["prefix_cached_share_under_pressure"] >= 0.9
    assert summary["prefix_cached_share_under_pressure_not_kept"] <= 0.05
    assert summary["cached_share_most_callers"] >= 0.9
    assert 0 < summary["ttft_cached_ratio"] < 1
    assert 0 < summary["inter_token_p50_s"] <= summary["inter_token_p99_s"]
    # a step that has begun, and what was on its way, of an answer of 400
    assert 0 <= summary["tokens_after_cancel_mean"] <= summary["tokens_after_cancel_most"] <= 50
    assert summary["callers_most"] in (1, 2)
    assert all(load["answers"] and not load["refused"] for load in report["loads"])
    prompts = [row["prompt_tokens"] for row in report["cold"]]
    assert all(900 <= tokens <= 1100 for tokens in prompts)
