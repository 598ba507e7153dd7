"""Requests for a person: kept until a colleague has called back."""

import sqlite3
from datetime import datetime
from typing import Protocol

from voice_agent.database import Database


class HandoffLog(Protocol):
    """Where a caller's wish for a person is written down."""

    async def add(self, *, room: str, reason: str) -> None:
        """Write a request down; while one of this room waits, another changes nothing.

        Raises:
            DatabaseError: it could not be written.
        """
        ...


class SqliteHandoffLog:
    """The log as a table beside the appointments."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, *, room: str, reason: str) -> None:
        """See `HandoffLog`."""

        def change(connection: sqlite3.Connection) -> None:
            connection.execute(
                "INSERT INTO handoffs (room, reason, created_at) SELECT ?, ?, ? WHERE NOT EXISTS"
                " (SELECT 1 FROM handoffs WHERE room = ? AND answered_at IS NULL)",
                (room, reason, datetime.now().isoformat(timespec="seconds"), room),
            )

        await self._database.write(change)
