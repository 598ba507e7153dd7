"""What a campaign has done so far, in an SQLite file, so that it can go on where it stopped.

A call is written down before its telephone rings: whatever dies, nobody is called twice for want
of a memory. A call that was going on when everything died counts as interrupted, and whether its
telephone rang is not known, so it is not tried again.
"""

import fcntl
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from voice_agent.database import Database, DatabaseError
from voice_agent.phone.campaign.schedule import History
from voice_agent.phone.errors import BadInput, one_line
from voice_agent.phone.outcome import Outcome

T = TypeVar("T")

_MIGRATIONS = (
    """
    CREATE TABLE calls (
        number TEXT PRIMARY KEY,
        attempts INTEGER NOT NULL,
        begun_at TEXT NOT NULL,
        outcome TEXT,
        sip_status INTEGER
    );
    CREATE TABLE campaign (
        persona TEXT NOT NULL
    );
    """,
)
"""Append, never edit."""


class CampaignState:
    """The file.

    Args:
        path: where it is, or is to be made.
    """

    def __init__(self, path: Path) -> None:
        self._database = Database(path, _MIGRATIONS)

    async def open(self, persona: str) -> Mapping[str, History]:
        """Everything that has happened, by number; calls that were cut off are closed.

        Raises:
            BadInput: the file cannot be used, or belongs to a campaign with another persona.
        """

        def change(connection: sqlite3.Connection) -> str:
            connection.execute(
                "INSERT INTO campaign SELECT ? WHERE NOT EXISTS (SELECT * FROM campaign)",
                (persona,),
            )
            connection.execute(
                "UPDATE calls SET outcome = ? WHERE outcome IS NULL", (Outcome.INTERRUPTED,)
            )
            (stored,) = connection.execute("SELECT persona FROM campaign").fetchone()
            return str(stored)

        if (stored := await self._write(change)) != persona:
            raise BadInput(
                f"this list was begun with the persona {stored}, not {persona}",
                f"Go on with --persona {stored}, or begin anew with another --state file.",
            )
        return await self._write(_histories)

    async def begin(self, number: str, now: datetime) -> None:
        """Write down that a number is being called.

        Raises:
            BadInput: the file cannot be written; do not call.
        """

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO calls VALUES (?, 1, ?, NULL, NULL) ON CONFLICT (number) DO UPDATE SET"
                " attempts = attempts + 1, begun_at = excluded.begun_at, outcome = NULL,"
                " sip_status = NULL",
                (number, now.isoformat()),
            )

        await self._write(change)

    async def end(self, number: str, outcome: Outcome, sip_status: int | None) -> None:
        """Write down how it ended.

        Raises:
            BadInput: the file cannot be written.
        """

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                "UPDATE calls SET outcome = ?, sip_status = ? WHERE number = ?",
                (outcome, sip_status, number),
            )

        await self._write(change)

    async def _write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        try:
            return await self._database.write(change)
        except DatabaseError as error:
            raise BadInput(
                one_line(str(error)), "Choose another file with --state, or mend this one."
            ) from error


@contextmanager
def only_one(path: Path) -> Iterator[None]:
    """Hold the campaign of a state file for this process; the lock ends with the process.

    Raises:
        BadInput: another process works on it, or the lock file cannot be made.
    """
    lock = path.with_name(f"{path.name}.lock")
    try:
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
    except BlockingIOError as error:
        raise BadInput(f"{path}: another `parley phone campaign` works on this list") from error
    except OSError as error:
        raise BadInput(f"{lock}: {error.strerror or error}") from error


def _histories(connection: sqlite3.Connection) -> Mapping[str, History]:
    rows = connection.execute("SELECT number, attempts, begun_at, outcome FROM calls")
    return {
        number: History(
            attempts, datetime.fromisoformat(begun_at).astimezone(UTC), Outcome(outcome)
        )
        for number, attempts, begun_at, outcome in rows
    }
