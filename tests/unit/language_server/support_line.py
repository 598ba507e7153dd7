"""A support line to talk to without a server: the bank's tools, kept in memory."""

from collections.abc import Mapping
from typing import Any

from tests.unit.language_server.front_desk import Call, schema

PROMPT = "You answer the support line of a bank."
NUMBER = "My customer number is three five two, nine eight six."
BORN = "I was born on the third of May, nineteen eighty four."

TOOLS: dict[str, dict[str, Any]] = {
    "verify_identity": schema("customer_number date_of_birth"),
    "account_balance": schema(optional="account"),
    "explain_balance": schema(optional="account"),
    "report_transaction": schema("transaction_id", "reason"),
    "transfer_to_human": schema(optional="reason"),
    "end_call": schema(),
}
MOVEMENT = {
    "transaction_id": "t1",
    "spoken_day": "Tuesday 17 November",
    "direction": "out",
    "spoken_amount": "19 pounds 99",
    "counterparty": "Northern Rail",
}
EXPLAINED = {
    "account": "current",
    "spoken_before": "100 pounds",
    "spoken_balance": "80 pounds 1",
    "spoken_since": "Saturday 14 November",
    "movements": [MOVEMENT],
}


class Bank:
    """Answers tool calls the way the agent's tools do, or as a test says."""

    def __init__(self, **answers: object) -> None:
        self.answers: dict[str, object] = {
            "verify_identity": {"verified": True, "name": "Mary Johnson"},
            "account_balance": {
                "accounts": [{"account": "current", "spoken_balance": "80 pounds 1"}]
            },
            "explain_balance": EXPLAINED,
            "report_transaction": {"reported": True},
            "transfer_to_human": {"status": "requested"},
            "end_call": {},
            **answers,
        }

    def run(self, tool: str, arguments: Mapping[str, str]) -> object:
        return self.answers[tool]


def bank_call(**answers: object) -> Call:
    """A call to the support line."""
    return Call(Bank(**answers), TOOLS, PROMPT)  # type: ignore[arg-type]
