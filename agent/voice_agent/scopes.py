"""What a call's agent may do: scopes that tools declare and that are granted, never asked for.

A scope comes from one of two places. The operator grants it in the persona file, or a verified
step of this call earns it, such as the identity check. Nothing that a caller, a model, a tool's
result or the metadata of a room says can grant one: there is no code path from words to a scope.
"""

from collections.abc import Iterable
from enum import StrEnum


class Scope(StrEnum):
    """One permission. Tools say which they need; see `Tool.needs`."""

    APPOINTMENTS_READ = "appointments:read"
    """Opening hours, free times, a patient's appointments."""
    APPOINTMENTS_WRITE = "appointments:write"
    """Book, move and cancel."""
    IDENTITY_CHECK = "identity:check"
    """Ask the ledger whether a caller is who they say."""
    ACCOUNTS_READ = "accounts:read"
    """Balances and transactions of the verified caller."""
    ACCOUNTS_REPORT = "accounts:report"
    """Report a transaction that the verified caller does not recognise."""
    CALL_CONTROL = "call:control"
    """Fetch a person, hand over to another agent, transfer a call, press keys, hang up."""
    CARD_TAKE = "card:take"
    """Take card data by keys for the operator's tokeniser."""
    MCP = "mcp:use"
    """Call the MCP tools that the persona file allows."""
    CALLER_VERIFIED = "caller:verified"
    """The caller has passed the identity check. Earned, never granted."""


EARNED = frozenset({Scope.CALLER_VERIFIED})
"""Scopes that only a verified step gives; a persona file cannot."""


class Grants:
    """The scopes of one agent in one call.

    Args:
        granted: What the operator grants; `EARNED` scopes among them are refused.

    Raises:
        ValueError: a scope that has to be earned is granted.
    """

    def __init__(self, granted: Iterable[Scope]) -> None:
        self._granted = frozenset(granted)
        self._earned: set[Scope] = set()
        if misplaced := self._granted & EARNED:
            raise ValueError(f"{min(misplaced)} is earned in the call and cannot be granted")

    def earn(self, scope: Scope) -> None:
        """Add what a verified step of this call gives.

        Raises:
            ValueError: the scope is the operator's to grant.
        """
        if scope not in EARNED:
            raise ValueError(f"{scope} is the operator's to grant")
        self._earned.add(scope)

    def lacking(self, needed: Iterable[Scope]) -> frozenset[Scope]:
        """What is missing of the scopes that a tool needs."""
        return frozenset(needed) - self._granted - self._earned

    def of_another_agent(self, granted: Iterable[Scope]) -> "Grants":
        """The scopes of another agent of the same call: its own grants, the same earned ones."""
        grants = Grants(granted)
        grants._earned = self._earned
        return grants
