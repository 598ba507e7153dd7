"""The agent's SQLite file: one short connection per operation, safe across call processes.

Every call is a process of its own, and several may book at once: `BEGIN IMMEDIATE` decides who may
write, and a second writer waits. The file keeps SQLite's rollback journal. Turning on the
write-ahead log fails at once, without waiting, when another process does so at the same moment, as
the first two calls of a new installation may; transactions here are too short to gain from it.
"""

import asyncio
import logging
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")

WRITE_WAIT_S = 3.0
"""Longest wait for another process's write; a caller hears silence meanwhile."""

MIGRATIONS = (
    """
    CREATE TABLE appointments (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        name_key TEXT NOT NULL,
        day TEXT NOT NULL,
        time TEXT NOT NULL,
        reason TEXT NOT NULL DEFAULT '',
        created_at TEXT NOT NULL,
        cancelled_at TEXT
    );
    CREATE UNIQUE INDEX one_appointment_per_slot ON appointments (day, time)
        WHERE cancelled_at IS NULL;
    CREATE INDEX appointments_by_name ON appointments (name_key, day)
        WHERE cancelled_at IS NULL;
    CREATE TABLE handoffs (
        id INTEGER PRIMARY KEY,
        room TEXT NOT NULL,
        reason TEXT NOT NULL,
        created_at TEXT NOT NULL,
        answered_at TEXT
    );
    """,
)
"""Of the appointments. Each entry lifts the file by one version (`PRAGMA user_version`); append,
never edit."""


class DatabaseError(Exception):
    """The file cannot be used; the message names it and is for the log, not for a caller."""


class Database:
    """One SQLite file; made, and brought up to date, on first use.

    Args:
        path: The file.
        migrations: Its versions; see `MIGRATIONS`.
        seed: Fills a file that has just been made, in the transaction that makes it.
    """

    def __init__(
        self,
        path: Path,
        migrations: Sequence[str] = MIGRATIONS,
        seed: Callable[[sqlite3.Connection], None] | None = None,
    ) -> None:
        self._path = path
        self._migrations = migrations
        self._seed = seed
        self._migrated = False

    async def read(self, query: Callable[[sqlite3.Connection], T]) -> T:
        """Run a query on a worker thread.

        Raises:
            DatabaseError: the file cannot be opened or read.
        """
        return await asyncio.to_thread(self._run, query, "BEGIN")

    async def write(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """Run a change as one transaction on a worker thread.

        A cancelled caller does not undo it: the thread finishes, wholly or not at all.

        Raises:
            DatabaseError: the file cannot be written, or another writer holds it for too long.
            sqlite3.IntegrityError: the change breaks a constraint; nothing was written.
        """
        return await asyncio.to_thread(self._run, change, "BEGIN IMMEDIATE")

    def _run(self, work: Callable[[sqlite3.Connection], T], begin: str) -> T:
        try:
            with closing(self._connect()) as connection:
                connection.execute(begin)
                try:
                    result = work(connection)
                except BaseException:
                    connection.execute("ROLLBACK")
                    raise
                connection.execute("COMMIT")
                return result
        except sqlite3.IntegrityError:
            raise
        except (sqlite3.Error, OSError) as error:
            raise DatabaseError(f"{self._path}: {error}") from error

    def _connect(self) -> sqlite3.Connection:
        if not self._migrated:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=WRITE_WAIT_S, isolation_level=None)
        try:
            if not self._migrated:
                self._migrate(connection)
                self._migrated = True
        except BaseException:
            connection.close()
            raise
        return connection

    def _migrate(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        try:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version > len(self._migrations):
                raise DatabaseError(
                    f"{self._path} was written by a newer Parley (version {version}, "
                    f"this one knows {len(self._migrations)}); update Parley or set PARLEY_DATABASE"
                )
            for script in self._migrations[version:]:
                for statement in filter(str.strip, script.split(";")):
                    connection.execute(statement)
            if version == 0 and self._seed is not None:
                self._seed(connection)
            connection.execute(f"PRAGMA user_version = {len(self._migrations)}")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")
        if version < len(self._migrations):
            logger.info("database migrated", extra={"from_version": version})
