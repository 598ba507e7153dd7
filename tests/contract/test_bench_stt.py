"""The whole benchmark, on a model small enough for every machine."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.stt.recordings import spoken_recordings
from bench.stt.widened_whisper import MICRO_WHISPER
from voice_agent.cli import app


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    spoken_recordings("micro", tmp_path)
    folder = tmp_path / "recordings-micro"
    for path in sorted(folder.glob("*"))[12:]:
        path.unlink()
    return folder


def test_ours_and_a_peer_are_measured(
    tmp_path: Path, recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path))
    result = tmp_path / "result.json"
    arguments = ["--quick", "--streams", "1,2", "--talk", "3", "--bound", "5"]
    arguments += ["--model", str(MICRO_WHISPER), "--recordings", str(recordings)]
    answer = CliRunner().invoke(app, ["bench", "stt", *arguments, "--json", str(result)])
    assert answer.exit_code == 0, answer.output
    report = json.loads(result.read_text())
    rounds = report["rounds"]
    assert {row["system"] for row in rounds} == {"parley", f"per-request-1x{_threads(report)}"}
    assert report["summary"]["wer_delta"] == 0
    assert report["summary"]["streams_sustained"] in (1, 2)
    assert report["summary"]["streams_ratio_vs_per_request"] is not None
    for row in rounds:
        assert row["finals"]
        assert not row["lost"]
        assert row["wer"] < 0.1
        assert row["load"]["cpu_cores"] > 0
    ours = [row for row in rounds if row["system"] == "parley"]
    assert all(row["load"]["batch_mean"] >= 1 for row in ours)


def _threads(report: dict[str, dict[str, int]]) -> int:
    return report["conditions"]["cpu_threads"]
