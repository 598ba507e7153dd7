"""The whole bench once: both wirings answer real calls on one stack."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bench.call.engines import REAL
from bench.call.wirings import OURS, STOCK
from voice_agent.cli import app

PROMISED = {
    "voice_to_voice_p50_s",
    "voice_to_voice_p95_s",
    "ratio_p50_vs_stock",
    "ratio_p95_vs_stock",
    "false_cutoff_rate",
    "stock_false_cutoff_rate",
    "barge_in_stop_p95_s",
}
RATES = ("false_cutoff_rate", "split_turn_rate", "lost_turn_rate", "backchannels_ignored_rate")


@pytest.mark.timeout(300)  # two workers and a stack to start, and eight turns in real time
def test_quick_calls_both_wirings_and_measures_what_the_summary_promises(
    tmp_path: Path,
) -> None:
    file = tmp_path / "call.json"
    arguments = ["--quick", "--turns", "2", "--json", str(file)]
    answer = CliRunner().invoke(app, ["bench", "call", *arguments])
    assert answer.exit_code == 0, answer.output
    report: dict[str, Any] = json.loads(file.read_text())
    summary = report["summary"]
    assert summary.keys() >= PROMISED
    assert summary["turns"] == summary["stock_turns"] == 2
    assert 0 < summary["voice_to_voice_p50_s"] <= summary["voice_to_voice_p95_s"]
    assert summary["ratio_p50_vs_stock"] > 0
    rows = report["wirings"]
    assert [(row["engines"], row["wiring"]) for row in rows] == [
        (REAL.name, OURS.name),
        (REAL.name, STOCK.name),
    ]
    for row in rows:
        assert row["failures"] == []
        assert row["simulated"] is False
        assert len(row["interruptions"]) == len(row["backchannels"]) == 1
        for rate in RATES:
            assert row[rate] is None or 0 <= row[rate] <= 1
        for turn in row["turns"]:
            assert turn["user_turns"] >= 1
            stages = turn["stages"]
            if turn["user_turns"] == 1:
                # the agent's own view agrees that it decided before it spoke
                assert stages["committed_at_s"] <= stages["audio_out_at_s"]
                assert stages["llm_began_at_s"] <= stages["llm_first_token_at_s"]
                assert stages["tts_began_at_s"] <= stages["tts_first_audio_at_s"]
    assert report["hardware"]["cores"]
    assert report["versions"]["livekit-agents"]
