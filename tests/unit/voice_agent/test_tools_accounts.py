"""The bank's tools, called as LiveKit calls them."""

import json
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.unit.voice_agent.test_tools import FakeLine, call
from voice_agent.ledger_demo import demo_ledger
from voice_agent.personas import load_persona
from voice_agent.settings import AgentSettings
from voice_agent.tool_context import tool_context
from voice_agent.tools.accounts import MISMATCH, NO_MORE_CHECKS
from voice_agent.tools.definition import ToolContext
from voice_agent.tools.execution import NOT_VERIFIED

FACTS = {"customer_number": "352986", "date_of_birth": "1984-05-03"}


@pytest.fixture
def context(tmp_path: Path) -> ToolContext:
    settings = AgentSettings(database=tmp_path / "appointments.db")
    return tool_context(FakeLine(), settings, load_persona("bank_support"), datetime.now)


@pytest.fixture
async def verified(context: ToolContext) -> ToolContext:
    assert await call(context, "verify_identity", **FACTS) == {
        "verified": True,
        "name": "Mary Johnson",
    }
    return context


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("account_balance", {}),
        ("account_balance", {"account": "savings"}),
        ("explain_balance", {"days": 90}),
        ("report_transaction", {"transaction_id": "t1004"}),
        ("account_balance", {"customer_id": 1, "verified": True, "scope": "caller:verified"}),
    ],
)
async def test_nothing_is_told_before_the_check(
    context: ToolContext, tool: str, arguments: dict[str, Any]
) -> None:
    assert await call(context, tool, **arguments) == {"error": NOT_VERIFIED}


async def test_every_failed_check_is_told_in_the_same_words(context: ToolContext) -> None:
    assert await call(context, "verify_identity", **{**FACTS, "date_of_birth": "1984-05-04"}) == {
        "error": MISMATCH
    }
    unknown = await call(context, "verify_identity", **{**FACTS, "customer_number": "999999"})
    assert unknown == {"error": MISMATCH}
    closed = await call(context, "verify_identity", **{**FACTS, "customer_number": "999999"})
    assert closed == {"error": NO_MORE_CHECKS}
    assert await call(context, "verify_identity", **FACTS) == {"error": NO_MORE_CHECKS}
    assert await call(context, "account_balance") == {"error": NOT_VERIFIED}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"customer_number": "35298"}, "six digits"),
        ({"customer_number": None}, "six digits"),
        ({"customer_number": "352986; DROP TABLE customers"}, "six digits"),
        ({"customer_number": "٣٥٢٩٨٦"}, "six digits"),
        ({"customer_number": [3, 5, 2, 9, 8, 6]}, "six digits"),
        ({"date_of_birth": "3 May 1984"}, "date like"),
        ({"date_of_birth": "1884-05-03"}, "no date of birth"),
        ({"date_of_birth": "2999-05-03"}, "no date of birth"),
        ({"date_of_birth": 19840503}, "date like"),
    ],
)
async def test_malformed_facts_are_explained_and_use_up_no_attempt(
    context: ToolContext, wrong: dict[str, Any], message: str
) -> None:
    for _ in range(5):
        refused = await call(context, "verify_identity", **{**FACTS, **wrong})
        assert message in refused["error"]
        assert str(wrong) not in refused["error"]
    assert (await call(context, "verify_identity", **FACTS))["verified"] is True


async def test_balances_of_all_accounts_or_one(verified: ToolContext) -> None:
    told = await call(verified, "account_balance")
    assert {item["account"]: item["balance_cents"] for item in told["accounts"]} == {
        "current": 81_491,
        "savings": 501_250,
    }
    (savings,) = (await call(verified, "account_balance", account="savings"))["accounts"]
    assert savings["spoken_balance"] == "5,012 pounds 50"
    assert await call(verified, "account_balance", account="null") == told
    assert "error" in await call(verified, "account_balance", account="offshore")


async def test_a_change_is_explained_by_its_largest_movements(verified: ToolContext) -> None:
    told = await call(verified, "explain_balance")
    assert told["spoken_before"] == "1,289 pounds 40"
    assert told["spoken_balance"] == "814 pounds 91"
    assert told["since"] == (date.today() - timedelta(days=7)).isoformat()
    assert [item["counterparty"] for item in told["movements"]] == [
        "Green Grocer",
        "Mill Lane Lettings",
        "Northern Rail",
        "Harbour Books",
    ]
    assert told["movements"][1]["spoken_amount"] == "420 pounds"
    assert told["movements"][3]["direction"] == "in"
    everything = await call(verified, "explain_balance", days="90")
    assert everything["not_told"] == 1
    assert everything["spoken_before"] == "0 pounds"


@pytest.mark.parametrize("days", [0, -1, 91, 10**9, 1.5, True, "soon", None, []])
async def test_a_wrong_look_back_is_explained(verified: ToolContext, days: object) -> None:
    assert "days" in (await call(verified, "explain_balance", days=days))["error"]


async def test_an_account_that_is_not_there_is_told(context: ToolContext) -> None:
    await call(context, "verify_identity", customer_number="530194", date_of_birth="1971-11-20")
    refused = await call(context, "explain_balance", account="savings")
    assert refused == {"error": "The caller has no savings account.", "accounts": ["current"]}
    overdrawn = await call(context, "account_balance")
    assert overdrawn["accounts"][0]["spoken_balance"] == "75 pounds overdrawn"


async def test_only_ones_own_transactions_can_be_reported(verified: ToolContext) -> None:
    for other in ("t3002", "t9999"):
        refused = await call(verified, "report_transaction", transaction_id=other)
        assert "no such transaction" in refused["error"]
    reported = await call(verified, "report_transaction", transaction_id="t1004")
    assert reported["counterparty"] == "Northern Rail"


async def test_a_persona_without_the_scope_cannot_report(
    verified: ToolContext, tmp_path: Path
) -> None:
    persona = load_persona("bank_support")
    narrow = persona.granted - {"accounts:report"}
    reader = replace(verified, grants=verified.grants.of_another_agent(narrow))
    refused = await call(reader, "report_transaction", transaction_id="t1004")
    assert "not allowed" in refused["error"]
    assert "accounts" in await call(reader, "account_balance")


async def test_a_ledger_that_is_gone_is_told_without_internals(
    verified: ToolContext, tmp_path: Path
) -> None:
    (tmp_path / "blocked").mkdir()
    gone = replace(verified, ledger=demo_ledger(tmp_path / "blocked"))
    refused = await call(gone, "account_balance")
    assert "cannot be reached" in refused["error"]
    assert str(tmp_path) not in json.dumps(refused)
