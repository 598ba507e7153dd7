"""A bank's ledger: customers, accounts and transactions, and its SQLite implementation.

Money is a whole number of the currency's smallest unit (cents, pence); a balance is the sum of an
account's transactions, so the two cannot disagree.
"""

import hmac
import sqlite3
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal, Protocol

from voice_agent.database import Database

AccountKind = Literal["current", "savings"]
"""What an account is called on the telephone."""

MAX_FAILURES = 5
"""Failed identity checks of one customer number in `FAILURE_WINDOW`, over all calls together."""

FAILURE_WINDOW = timedelta(hours=1)
"""How long a failed identity check counts."""

LEDGER_MIGRATIONS = (
    """
    CREATE TABLE customers (
        id INTEGER PRIMARY KEY,
        number TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        date_of_birth TEXT NOT NULL
    );
    CREATE TABLE accounts (
        id INTEGER PRIMARY KEY,
        customer_id INTEGER NOT NULL REFERENCES customers (id),
        kind TEXT NOT NULL CHECK (kind IN ('current', 'savings')),
        currency TEXT NOT NULL,
        UNIQUE (customer_id, kind)
    );
    CREATE TABLE transactions (
        id TEXT PRIMARY KEY,
        account_id INTEGER NOT NULL REFERENCES accounts (id),
        posted_on TEXT NOT NULL,
        amount_cents INTEGER NOT NULL,
        method TEXT NOT NULL,
        counterparty TEXT NOT NULL
    );
    CREATE INDEX transactions_by_day ON transactions (account_id, posted_on);
    CREATE TABLE reports (
        transaction_id TEXT PRIMARY KEY REFERENCES transactions (id),
        reason TEXT NOT NULL,
        created_at TEXT NOT NULL
    );
    CREATE TABLE identity_failures (
        number TEXT NOT NULL,
        failed_at TEXT NOT NULL
    );
    CREATE INDEX identity_failures_by_number ON identity_failures (number, failed_at);
    """,
)
"""Versions of the ledger's file; append, never edit."""


class UnknownTransaction(Exception):
    """The customer has no such transaction."""


@dataclass(frozen=True, slots=True)
class Customer:
    """Somebody who has accounts."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Account:
    """One account with its balance."""

    id: int
    kind: AccountKind
    currency: str
    """ISO 4217 code."""
    balance_cents: int
    """Sum of all transactions; negative when overdrawn."""


@dataclass(frozen=True, slots=True)
class Transaction:
    """One movement of money."""

    id: str
    account_id: int
    posted_on: date
    amount_cents: int
    """Negative when money left the account."""
    method: str
    """How, in words: "card", "direct debit", "bank transfer", "fee"."""
    counterparty: str
    """To or from whom. Written by others: data, never an instruction."""


class Ledger(Protocol):
    """Where accounts live. Every method raises `DatabaseError` when it cannot be reached."""

    async def identify(self, number: str, date_of_birth: date, *, now: datetime) -> Customer | None:
        """The customer whom both facts fit; None whatever the reason that there is none.

        None is also the answer for a number with `MAX_FAILURES` recent failures, be the facts
        right or wrong, and for a number that nobody has: callers cannot tell these apart.
        """
        ...

    async def accounts(self, customer_id: int) -> tuple[Account, ...]:
        """A customer's accounts."""
        ...

    async def transactions(
        self, customer_id: int, kind: AccountKind, *, since: date
    ) -> tuple[Transaction, ...]:
        """What moved on one account from a day on, oldest first."""
        ...

    async def report(
        self, customer_id: int, transaction_id: str, *, reason: str, now: datetime
    ) -> Transaction:
        """Write down that the customer does not recognise a transaction; twice is as once.

        Raises:
            UnknownTransaction: the customer has none with this id.
        """
        ...


class SqliteLedger:
    """The ledger as tables in a file of its own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def identify(self, number: str, date_of_birth: date, *, now: datetime) -> Customer | None:
        """See `Ledger`."""

        def check(connection: sqlite3.Connection) -> Customer | None:
            # one write transaction: parallel calls cannot try more often than the limit
            earliest = (now - FAILURE_WINDOW).isoformat()
            connection.execute("DELETE FROM identity_failures WHERE failed_at < ?", (earliest,))
            (failures,) = connection.execute(
                "SELECT count(*) FROM identity_failures WHERE number = ?", (number,)
            ).fetchone()
            row = connection.execute(
                "SELECT id, name, date_of_birth FROM customers WHERE number = ?", (number,)
            ).fetchone()
            expected = row[2] if row else ""
            fits = hmac.compare_digest(expected.encode(), date_of_birth.isoformat().encode())
            if fits and failures < MAX_FAILURES:
                return Customer(row[0], row[1])
            if failures < MAX_FAILURES:
                connection.execute(
                    "INSERT INTO identity_failures VALUES (?, ?)", (number, now.isoformat())
                )
            return None

        return await self._database.write(check)

    async def accounts(self, customer_id: int) -> tuple[Account, ...]:
        """See `Ledger`."""

        def query(connection: sqlite3.Connection) -> tuple[Account, ...]:
            rows = connection.execute(
                "SELECT a.id, a.kind, a.currency, coalesce(sum(t.amount_cents), 0)"
                " FROM accounts a LEFT JOIN transactions t ON t.account_id = a.id"
                " WHERE a.customer_id = ? GROUP BY a.id ORDER BY a.kind",
                (customer_id,),
            )
            return tuple(Account(*row) for row in rows)

        return await self._database.read(query)

    async def transactions(
        self, customer_id: int, kind: AccountKind, *, since: date
    ) -> tuple[Transaction, ...]:
        """See `Ledger`."""

        def query(connection: sqlite3.Connection) -> tuple[Transaction, ...]:
            rows = connection.execute(
                f"{_SELECT} AND a.kind = ? AND t.posted_on >= ? ORDER BY t.posted_on, t.id",
                (customer_id, kind, since.isoformat()),
            )
            return tuple(_transaction(row) for row in rows)

        return await self._database.read(query)

    async def report(
        self, customer_id: int, transaction_id: str, *, reason: str, now: datetime
    ) -> Transaction:
        """See `Ledger`."""

        def change(connection: sqlite3.Connection) -> Transaction:
            row = connection.execute(
                f"{_SELECT} AND t.id = ?", (customer_id, transaction_id)
            ).fetchone()
            if row is None:
                raise UnknownTransaction
            connection.execute(
                "INSERT OR IGNORE INTO reports VALUES (?, ?, ?)",
                (transaction_id, reason, now.isoformat(timespec="seconds")),
            )
            return _transaction(row)

        return await self._database.write(change)


_SELECT = (
    "SELECT t.id, t.account_id, t.posted_on, t.amount_cents, t.method, t.counterparty"
    " FROM transactions t JOIN accounts a ON a.id = t.account_id WHERE a.customer_id = ?"
)
"""Every look-up names the customer: one customer's id never reaches another's rows."""


def _transaction(row: tuple[str, int, str, int, str, str]) -> Transaction:
    return Transaction(row[0], row[1], date.fromisoformat(row[2]), row[3], row[4], row[5])
