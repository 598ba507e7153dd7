import asyncio
import sqlite3
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from voice_agent.database import DatabaseError
from voice_agent.ledger import (
    FAILURE_WINDOW,
    MAX_FAILURES,
    Customer,
    SqliteLedger,
    UnknownTransaction,
)
from voice_agent.ledger_demo import ACCOUNTS, TRANSACTIONS, demo_ledger

NOW = datetime(2026, 11, 21, 10, 15)
MARY = Customer(1, "Mary Johnson")
BORN = date(1984, 5, 3)
LONG_AGO = date(2000, 1, 1)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(path: Path) -> SqliteLedger:
    return demo_ledger(path)


async def test_a_balance_is_the_sum_of_its_transactions(ledger: SqliteLedger) -> None:
    for account in await ledger.accounts(MARY.id):
        moved = await ledger.transactions(MARY.id, account.kind, since=LONG_AGO)
        assert account.balance_cents == sum(item.amount_cents for item in moved)
        assert all(type(item.amount_cents) is int for item in moved)


def test_the_demo_is_consistent() -> None:
    assert {account for _, account, *_ in TRANSACTIONS} == {key for key, *_ in ACCOUNTS}


async def test_both_facts_are_needed(ledger: SqliteLedger) -> None:
    assert await ledger.identify("352986", BORN, now=NOW) == MARY
    assert await ledger.identify("352986", date(1984, 5, 4), now=NOW) is None
    assert await ledger.identify("530194", BORN, now=NOW) is None
    assert await ledger.identify("000000", BORN, now=NOW) is None


@pytest.mark.parametrize("number", ["352986", "000000"])
async def test_a_number_is_closed_after_too_many_failures_of_all_calls(
    path: Path, number: str
) -> None:
    guesses = [date(1984, 6, 1) + timedelta(days=day) for day in range(MAX_FAILURES)]
    await asyncio.gather(*(demo_ledger(path).identify(number, guess, now=NOW) for guess in guesses))
    ledger = demo_ledger(path)
    assert await ledger.identify(number, BORN, now=NOW) is None
    assert await ledger.identify("530194", date(1971, 11, 20), now=NOW) is not None
    later = NOW + FAILURE_WINDOW + timedelta(seconds=1)
    found = await ledger.identify(number, BORN, now=later)
    assert found == (MARY if number == "352986" else None)


async def test_guessing_at_a_closed_number_stores_nothing_more(
    ledger: SqliteLedger, path: Path
) -> None:
    for _ in range(MAX_FAILURES + 10):
        await ledger.identify("352986", LONG_AGO, now=NOW)
    with closing(sqlite3.connect(path)) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM identity_failures").fetchone()
    assert stored == MAX_FAILURES


async def test_one_customer_never_sees_anothers_rows(ledger: SqliteLedger) -> None:
    mine = {item.id for item in await ledger.transactions(1, "current", since=LONG_AGO)}
    theirs = {item.id for item in await ledger.transactions(2, "current", since=LONG_AGO)}
    assert mine
    assert theirs
    assert not mine & theirs
    with pytest.raises(UnknownTransaction):
        await ledger.report(1, "t3002", reason="", now=NOW)


async def test_reporting_twice_is_reporting_once(ledger: SqliteLedger, path: Path) -> None:
    first = await ledger.report(1, "t1004", reason="unknown", now=NOW)
    again = await ledger.report(1, "t1004", reason="still unknown", now=NOW)
    assert first == again
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT transaction_id, reason FROM reports").fetchall()
    assert rows == [("t1004", "unknown")]


async def test_a_ledger_that_exists_is_left_as_it_is(path: Path) -> None:
    await demo_ledger(path).accounts(1)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE customers SET name = 'Mary Smith' WHERE id = 1")
        connection.commit()
    found = await demo_ledger(path).identify("352986", BORN, now=NOW)
    assert found == Customer(1, "Mary Smith")


@pytest.fixture
def garbage(path: Path) -> Path:
    path.write_bytes(b"not a database" * 100)
    return path


async def test_a_file_that_is_no_database_is_an_error(garbage: Path) -> None:
    with pytest.raises(DatabaseError):
        await demo_ledger(garbage).accounts(1)
