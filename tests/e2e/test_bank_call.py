"""The second persona through the whole stack: its recorded conversation, heard and spoken."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.test_call import agent_side, call, transcribe
from tests.stack import Stack
from voice_agent.ledger_demo import LEDGER_FILE

CONVERSATION = sorted((Path(__file__).parents[1] / "fixtures" / "conversation_bank").glob("*.wav"))

pytestmark = pytest.mark.timeout(320)  # the first test of a session starts the stack as well


def reports(stack: Stack) -> list[str]:
    """Transactions that were reported to the bank."""
    with closing(sqlite3.connect(stack.home / LEDGER_FILE)) as ledger:
        return [row[0] for row in ledger.execute("SELECT transaction_id FROM reports")]


async def test_the_recorded_conversation_explains_a_balance(stack: Stack, tmp_path: Path) -> None:
    result = await call(stack, tmp_path, "--persona", "bank_support", *CONVERSATION)
    assert result.status == 0, result.output
    turns = result.report["turns"]
    assert [turn["said"] for turn in turns] == [
        path.with_suffix(".txt").read_text().strip() for path in CONVERSATION
    ]
    heard = "\n".join(f"{turn['heard_by_agent']!r} -> {turn['reply']!r}" for turn in turns)
    assert "Riverside Bank" in result.report["greeting"]["reply"]
    for turn in turns[:3]:
        assert "pounds" not in turn["reply"], heard
    assert "814 pounds 91" in turns[3]["reply"], heard
    assert reports(stack) == ["t1004"], heard
    spoken = transcribe(stack, agent_side(result.recording, tmp_path))
    assert "pounds" in spoken, spoken
    assert "northern rail" in spoken, spoken


async def test_the_reception_hands_over_to_the_accounts_desk(stack: Stack, tmp_path: Path) -> None:
    result = await call(
        stack, tmp_path, "--persona", "bank_reception", "--text", "Why did my balance change?"
    )
    assert result.status == 0, result.output
    (turn,) = result.report["turns"]
    assert turn["reply"]
    heard = transcribe(stack, agent_side(result.recording, tmp_path))
    assert "desk" in heard, heard
    assert "number" in heard, heard
