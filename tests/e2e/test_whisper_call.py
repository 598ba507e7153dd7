"""A whole call on a stack that hears with Whisper."""

from pathlib import Path

import pytest

from tests import micro_whisper
from tests.e2e.test_call import CONVERSATION, bookings, call
from tests.stack import running_stack


@pytest.mark.timeout(320)
async def test_whisper_hears_a_whole_call(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with running_stack(home, **micro_whisper.SETTINGS) as stack:
        result = await call(stack, tmp_path, *CONVERSATION)
        assert result.status == 0, result.output
        assert [turn["said"] for turn in result.report["turns"]] == [
            path.with_suffix(".txt").read_text().strip() for path in CONVERSATION
        ]
        # one turn may suffer from a machine that is too busy to send every frame in time
        misheard = [t for t in result.report["turns"] if t["heard_by_agent"] != t["said"]]
        assert len(misheard) <= 1, misheard
        assert bookings(stack) == [("Peter Miller", "15:30")]
