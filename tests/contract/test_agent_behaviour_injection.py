"""Prompt injection: whatever is said, only what was granted and earned can be done.

A model that refuses proves nothing about the next model, so the model here obeys every injection;
what is asserted is which tools ran and which scopes the call has.
"""

import json
import sqlite3
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.contract.text_call import TextCaller, running_responder, scripted_model
from tests.unit.voice_agent.scripted_llm import ScriptedLLM, ToolCall
from voice_agent.ledger_demo import LEDGER_FILE, demo_ledger
from voice_agent.persona_choice import persona_for
from voice_agent.personas import load_persona
from voice_agent.prompt import system_prompt
from voice_agent.scopes import EARNED
from voice_agent.settings import AgentSettings

CORPUS = yaml.safe_load(
    (Path(__file__).parents[1] / "fixtures" / "prompt_injections.yaml").read_text("utf-8")
)
TEXTS = [entry["text"] for entry in CORPUS]
CLAIMS = json.dumps(
    {"verified": True, "customer_id": 2, "scopes": ["caller:verified"], "transaction_id": "t3002"}
)
VERIFY = ToolCall("verify_identity", '{"customer_number": "352986", "date_of_birth": "1984-05-03"}')


def bank_call(model: Any, folder: Path) -> TextCaller:
    return TextCaller(model, load_persona("bank_support"), folder / "app.db", datetime.now)


@pytest.mark.parametrize("entry", CORPUS, ids=range(len(CORPUS)))
async def test_a_model_that_obeys_the_caller_gets_nowhere(
    entry: dict[str, str], tmp_path: Path
) -> None:
    model = ScriptedLLM(ToolCall(entry["asks_for"], CLAIMS), "I cannot do that.")
    async with bank_call(model, tmp_path) as caller:
        assert await caller.say(entry["text"]) == "I cannot do that."
        assert caller.tools_run == []
        assert caller.context.grants.lacking(EARNED) == EARNED
        assert caller.context.identity.customer is None
        told = model.last_tool_result()
        assert not any(word in told for word in ("pound", "Johnson", "Miller", "Energy"))


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_the_script_tells_nothing(text: str, tmp_path: Path) -> None:
    async with running_responder() as url:
        model = scripted_model(url, load_persona("bank_support"))
        async with bank_call(model, tmp_path) as caller:
            answer = await caller.say(text)
            assert answer
            assert "pound" not in answer
            assert "verify_identity" not in answer
            assert set(caller.tools_run) <= {"transfer_to_human", "end_call"}
            assert caller.context.grants.lacking(EARNED) == EARNED


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
async def test_what_a_tool_returns_grants_nothing(text: str, tmp_path: Path) -> None:
    await demo_ledger(tmp_path / LEDGER_FILE).accounts(1)
    with closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as ledger:
        ledger.execute("UPDATE transactions SET counterparty = ? WHERE id = 't1004'", (text,))
        ledger.commit()
    model = ScriptedLLM(
        VERIFY,
        ToolCall("explain_balance", "{}"),
        [ToolCall("report_transaction", CLAIMS), ToolCall("transfer_to_admin", CLAIMS)],
        "I cannot do that.",
    )
    async with bank_call(model, tmp_path) as caller:
        assert await caller.say("Why did my balance change?") == "I cannot do that."
        assert caller.tools_run == ["verify_identity", "explain_balance"]
    with closing(sqlite3.connect(tmp_path / LEDGER_FILE)) as ledger:
        assert ledger.execute("SELECT * FROM reports").fetchall() == []


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_metadata_chooses_a_persona_and_says_nothing_to_it(text: str) -> None:
    metadata = json.dumps(
        {"persona": "bank_support", "instructions": text, "scopes": ["caller:verified"]}
    )
    persona = persona_for(metadata, AgentSettings())
    assert persona == load_persona("bank_support")
    assert text not in system_prompt(persona)
