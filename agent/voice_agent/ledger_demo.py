"""The demo's ledger: three made-up customers, so that a first call has something to ask about."""

import sqlite3
from datetime import date, timedelta
from pathlib import Path

from voice_agent.database import Database
from voice_agent.ledger import LEDGER_MIGRATIONS, SqliteLedger

LEDGER_FILE = "ledger.db"
"""Beside the appointments' file."""

CUSTOMERS = (
    (1, "352986", "Mary Johnson", "1984-05-03"),
    (2, "530194", "Peter Miller", "1971-11-20"),
    (3, "268403", "Anna Bell", "1995-02-28"),
)
"""id, customer number, name, date of birth."""

ACCOUNTS = (
    (1, 1, "current", "GBP"),
    (2, 1, "savings", "GBP"),
    (3, 2, "current", "GBP"),
    (4, 3, "current", "EUR"),
)
"""id, customer, kind, currency."""

TRANSACTIONS = (
    ("t1001", 1, 40, 128_940, "bank transfer", "opening balance"),
    ("t1002", 1, 6, -8_450, "card", "Green Grocer"),
    ("t1003", 1, 4, -42_000, "direct debit", "Mill Lane Lettings"),
    ("t1004", 1, 2, -1_999, "card", "Northern Rail"),
    ("t1005", 1, 1, 5_000, "refund", "Harbour Books"),
    ("t2001", 2, 40, 500_000, "bank transfer", "opening balance"),
    ("t2002", 2, 20, 1_250, "interest", "Riverside Bank"),
    ("t3001", 3, 40, 40_000, "bank transfer", "opening balance"),
    ("t3002", 3, 3, -45_000, "direct debit", "Hill Energy"),
    ("t3003", 3, 2, -2_500, "fee", "unarranged overdraft"),
    ("t4001", 4, 40, 75_000, "bank transfer", "opening balance"),
)
"""id, account, days ago, amount in cents, method, counterparty."""


def seed(connection: sqlite3.Connection) -> None:
    """Fill a new ledger; days count back from today."""
    today = date.today()
    connection.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", CUSTOMERS)
    connection.executemany("INSERT INTO accounts VALUES (?, ?, ?, ?)", ACCOUNTS)
    connection.executemany(
        "INSERT INTO transactions VALUES (?, ?, ?, ?, ?, ?)",
        [
            (key, account, (today - timedelta(days=ago)).isoformat(), cents, method, counterparty)
            for key, account, ago, cents, method, counterparty in TRANSACTIONS
        ],
    )


def demo_ledger(path: Path) -> SqliteLedger:
    """The ledger in a file; one that does not exist is made on first use, with the demo in it."""
    return SqliteLedger(Database(path, LEDGER_MIGRATIONS, seed))
