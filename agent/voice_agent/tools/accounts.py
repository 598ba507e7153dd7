"""Tools of a bank's support line: who is calling, what they have, and why it changed.

No tool but the identity check works before the check has passed, and none takes a customer: whose
accounts are read is decided by the check alone, so nothing that is said can point at another's.
"""

from datetime import timedelta
from typing import Annotated, Literal

from livekit.agents import RunContext
from pydantic import Field

from voice_agent.identity import IdentityClosed, IdentityRefused
from voice_agent.ledger import Account, AccountKind, Customer, Transaction, UnknownTransaction
from voice_agent.scopes import Scope
from voice_agent.tools.arguments import (
    Absent,
    CustomerNumber,
    DateOfBirth,
    Reason,
    TransactionId,
    WholeNumber,
)
from voice_agent.tools.definition import Arguments, Result, Tool, ToolContext, ToolRefusal
from voice_agent.tools.spoken import spoken_day, spoken_money

DEFAULT_DAYS = 7
"""Days that "why did it change" looks back."""

MAX_DAYS = 90
"""Furthest look back."""

MAX_MOVEMENTS = 4
"""Transactions told at once, the largest; more cannot be followed by ear."""

MISMATCH = (
    "These details do not match our records. Say so without guessing which one is wrong, and ask "
    "for the customer number and the date of birth once more."
)
"""The answer to every failed check: an unknown number, a wrong date and a blocked number alike."""

NO_MORE_CHECKS = (
    "The identity cannot be confirmed on this call. Say so without a reason, and offer a colleague."
)

_Account = Annotated[AccountKind | None, Absent]


class _VerifyIdentity(Arguments):
    customer_number: CustomerNumber
    date_of_birth: DateOfBirth


class _AccountBalance(Arguments):
    account: _Account = None


class _ExplainBalance(Arguments):
    account: _Account = None
    days: Annotated[WholeNumber, Field(ge=1, le=MAX_DAYS)] = DEFAULT_DAYS


class _ReportTransaction(Arguments):
    transaction_id: TransactionId
    reason: Reason = ""


async def _verify_identity(
    arguments: _VerifyIdentity, context: ToolContext, _: RunContext
) -> Result:
    try:
        customer = await context.identity.verify(arguments.customer_number, arguments.date_of_birth)
    except IdentityClosed:
        raise ToolRefusal(NO_MORE_CHECKS) from None
    except IdentityRefused:
        raise ToolRefusal(MISMATCH) from None
    return {"verified": True, "name": customer.name}


async def _account_balance(
    arguments: _AccountBalance, context: ToolContext, _: RunContext
) -> Result:
    accounts = await context.ledger.accounts(_caller(context).id)
    return {
        "accounts": [
            _describe_account(account)
            for account in accounts
            if arguments.account in (None, account.kind)
        ]
    }


async def _explain_balance(
    arguments: _ExplainBalance, context: ToolContext, _: RunContext
) -> Result:
    caller = _caller(context)
    account = await _chosen_account(arguments.account, caller, context)
    since = context.clock().date() - timedelta(days=arguments.days)
    moved = await context.ledger.transactions(caller.id, account.kind, since=since)
    told = sorted(moved, key=lambda item: -abs(item.amount_cents))[:MAX_MOVEMENTS]
    before_cents = account.balance_cents - sum(item.amount_cents for item in moved)
    return {
        **_describe_account(account),
        "since": since.isoformat(),
        "spoken_since": spoken_day(since),
        "spoken_before": _spoken_balance(before_cents, account.currency),
        "movements": [_describe_movement(item, account.currency) for item in moved if item in told],
        "not_told": len(moved) - len(told),
    }


async def _report_transaction(
    arguments: _ReportTransaction, context: ToolContext, _: RunContext
) -> Result:
    caller = _caller(context)
    try:
        reported = await context.ledger.report(
            caller.id,
            arguments.transaction_id,
            reason=arguments.reason,
            now=context.clock(),
        )
    except UnknownTransaction:
        raise ToolRefusal(
            "There is no such transaction. Look it up with explain_balance first."
        ) from None
    return {
        "reported": True,
        "transaction_id": reported.id,
        "counterparty": reported.counterparty,
        "message": "A colleague examines it within two working days and calls back.",
    }


def _caller(context: ToolContext) -> Customer:
    customer = context.identity.customer
    if customer is None:  # the scope says otherwise only if a persona is bound wrongly
        raise ToolRefusal(NO_MORE_CHECKS)
    return customer


async def _chosen_account(
    kind: AccountKind | None, caller: Customer, context: ToolContext
) -> Account:
    accounts = await context.ledger.accounts(caller.id)
    for account in accounts:
        if account.kind == (kind or "current"):
            return account
    raise ToolRefusal(
        f"The caller has no {kind or 'current'} account.",
        accounts=[account.kind for account in accounts],
    )


def _describe_account(account: Account) -> Result:
    return {
        "account": account.kind,
        "balance_cents": account.balance_cents,
        "currency": account.currency,
        "spoken_balance": _spoken_balance(account.balance_cents, account.currency),
    }


def _describe_movement(item: Transaction, currency: str) -> Result:
    direction: Literal["in", "out"] = "out" if item.amount_cents < 0 else "in"
    return {
        "transaction_id": item.id,
        "day": item.posted_on.isoformat(),
        "spoken_day": spoken_day(item.posted_on),
        "direction": direction,
        "amount_cents": item.amount_cents,
        "spoken_amount": spoken_money(item.amount_cents, currency),
        "method": item.method,
        "counterparty": item.counterparty,
    }


def _spoken_balance(cents: int, currency: str) -> str:
    amount = spoken_money(cents, currency)
    return f"{amount} overdrawn" if cents < 0 else amount


_VERIFIED_READ = frozenset({Scope.ACCOUNTS_READ, Scope.CALLER_VERIFIED})

ACCOUNT_TOOLS = (
    Tool(
        "verify_identity",
        "Confirm who is calling. Needs the six-digit customer number and the date of birth; ask "
        "for both. Nothing about an account may be said before it has succeeded.",
        _VerifyIdentity,
        _verify_identity,
        needs=frozenset({Scope.IDENTITY_CHECK}),
        writes=True,
        earns=Scope.CALLER_VERIFIED,
    ),
    Tool(
        "account_balance",
        "Balances of the verified caller's accounts.",
        _AccountBalance,
        _account_balance,
        needs=_VERIFIED_READ,
    ),
    Tool(
        "explain_balance",
        "Why the balance of the verified caller's account changed: what it was, and the largest "
        "movements since. Use for questions about payments as well.",
        _ExplainBalance,
        _explain_balance,
        needs=_VERIFIED_READ,
    ),
    Tool(
        "report_transaction",
        "Report a transaction that the verified caller does not recognise. Look it up with "
        "explain_balance first, and let the caller confirm.",
        _ReportTransaction,
        _report_transaction,
        needs=frozenset({Scope.ACCOUNTS_REPORT, Scope.CALLER_VERIFIED}),
        writes=True,
    ),
)
"""In the order in which a model sees them."""
