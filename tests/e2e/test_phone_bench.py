"""`parley bench phone` itself, as short as it goes: it calls, listens and counts."""

import asyncio
import json
import sys
from pathlib import Path

import pytest

from tests.phone_network import is_inside
from tests.stack import PARLEY

SHORT = ("--quick", "--lines", "1", "--in-a-row", "0", "--at-once", "2", "--ladder", "0")


@pytest.mark.timeout(240)
@pytest.mark.skipif(not is_inside(), reason="needs a network of its own; `make test-phone` does")
async def test_both_paths_are_measured_and_nothing_is_left(tmp_path: Path) -> None:
    file = tmp_path / "phone.json"
    process = await asyncio.create_subprocess_exec(
        sys.executable, PARLEY, "bench", "phone", *SHORT, "--json", file,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    result = json.loads(file.read_text())
    summary = result["summary"]
    assert (summary["turns"], summary["browser_turns"]) == (1, 1)
    assert 0 < summary["answer_p50_s"] < summary["setup_p50_s"]
    # the words are read from the agent's own reports, which only those in the room get
    assert {turn["path"] for turn in result["turns"] if turn["understood"]} == {"phone", "browser"}
    assert summary["calls_at_once"] == 2
    assert summary["calls_at_once_failed"] == 0, result
    assert summary["calls_at_once_rtp_packets"] > 200
    assert summary["calls_at_once_lost_rtp_packets"] is not None
    for what in ("rooms", "processes", "ports"):
        assert summary[f"calls_at_once_left_{what}"] == 0
