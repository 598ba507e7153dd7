"""The appointment book: what the tools may do with it, and its SQLite implementation."""

import secrets
import sqlite3
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Protocol

from voice_agent.database import Database, DatabaseError

MAX_FOUND = 5
"""Appointments that one look-up returns; more cannot be told by voice."""


class AppointmentError(Exception):
    """Base of what can go wrong with the book."""


class SlotTaken(AppointmentError):
    """Somebody else has the slot."""


class UnknownAppointment(AppointmentError):
    """No such appointment, or it is cancelled."""


class BookUnavailable(AppointmentError):
    """The book cannot be read or written now."""


@dataclass(frozen=True, slots=True)
class Appointment:
    """One booked slot."""

    id: str
    name: str
    """As the caller gave it."""
    day: date
    time: time
    """Local time of the practice."""
    reason: str = ""

    @property
    def starts_at(self) -> datetime:
        """Local start, without a zone."""
        return datetime.combine(self.day, self.time)


class AppointmentBook(Protocol):
    """Where appointments live. Every method raises `BookUnavailable` when it cannot be reached."""

    async def taken(self, day: date) -> frozenset[time]:
        """Slots of a day that are booked."""
        ...

    async def book(self, *, name: str, day: date, time: time, reason: str = "") -> Appointment:
        """Book a slot. Asking again for one's own slot returns the same appointment.

        Raises:
            SlotTaken: somebody else has it.
        """
        ...

    async def find(self, name: str, *, since: datetime) -> tuple[Appointment, ...]:
        """The next appointments under a name from a local moment on, at most `MAX_FOUND`."""
        ...

    async def move(self, appointment_id: str, *, day: date, time: time) -> Appointment:
        """Move an appointment to another slot.

        Raises:
            UnknownAppointment: there is none with this id.
            SlotTaken: somebody else has the slot; the appointment stays where it was.
        """
        ...

    async def cancel(self, appointment_id: str) -> Appointment:
        """Free an appointment's slot and return what it was.

        Raises:
            UnknownAppointment: there is none with this id.
        """
        ...


def name_key(name: str) -> str:
    """Fold a name for look-ups: case, accents, spacing and punctuation do not matter."""
    decomposed = unicodedata.normalize("NFKD", name.casefold())
    letters = "".join(c if c.isalnum() else " " for c in decomposed if not unicodedata.combining(c))
    return " ".join(letters.split())


class SqliteAppointmentBook:
    """The book as a table; a unique index on the slot makes double booking impossible."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def taken(self, day: date) -> frozenset[time]:
        """See `AppointmentBook`."""

        def query(connection: sqlite3.Connection) -> frozenset[time]:
            rows = connection.execute(
                "SELECT time FROM appointments WHERE day = ? AND cancelled_at IS NULL",
                (day.isoformat(),),
            )
            return frozenset(time.fromisoformat(row[0]) for row in rows)

        try:
            return await self._database.read(query)
        except DatabaseError as error:
            raise BookUnavailable(str(error)) from error

    async def book(self, *, name: str, day: date, time: time, reason: str = "") -> Appointment:
        """See `AppointmentBook`."""
        wanted = Appointment(secrets.token_hex(4), name, day, time, reason)

        def change(connection: sqlite3.Connection) -> Appointment:
            holder = connection.execute(
                f"{_SELECT} WHERE day = ? AND time = ? AND cancelled_at IS NULL",
                (day.isoformat(), _hhmm(time)),
            ).fetchone()
            if holder is not None:
                appointment = _appointment(holder)
                if name_key(appointment.name) == name_key(name):
                    return appointment
                raise SlotTaken
            connection.execute(
                "INSERT INTO appointments (id, name, name_key, day, time, reason, created_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    wanted.id,
                    name,
                    name_key(name),
                    day.isoformat(),
                    _hhmm(time),
                    reason,
                    datetime.now().isoformat(timespec="seconds"),
                ),
            )
            return wanted

        try:
            return await self._database.write(change)
        except sqlite3.IntegrityError as error:
            raise SlotTaken from error
        except DatabaseError as error:
            raise BookUnavailable(str(error)) from error

    async def find(self, name: str, *, since: datetime) -> tuple[Appointment, ...]:
        """See `AppointmentBook`."""

        def query(connection: sqlite3.Connection) -> tuple[Appointment, ...]:
            rows = connection.execute(
                f"{_SELECT} WHERE name_key = ? AND cancelled_at IS NULL"
                " AND (day > ? OR (day = ? AND time >= ?)) ORDER BY day, time LIMIT ?",
                (
                    name_key(name),
                    since.date().isoformat(),
                    since.date().isoformat(),
                    _hhmm(since.time()),
                    MAX_FOUND,
                ),
            )
            return tuple(_appointment(row) for row in rows)

        try:
            return await self._database.read(query)
        except DatabaseError as error:
            raise BookUnavailable(str(error)) from error

    async def move(self, appointment_id: str, *, day: date, time: time) -> Appointment:
        """See `AppointmentBook`."""

        def change(connection: sqlite3.Connection) -> Appointment:
            _get(connection, appointment_id)
            connection.execute(
                "UPDATE appointments SET day = ?, time = ? WHERE id = ?",
                (day.isoformat(), _hhmm(time), appointment_id),
            )
            return _get(connection, appointment_id)

        try:
            return await self._database.write(change)
        except sqlite3.IntegrityError as error:
            raise SlotTaken from error
        except DatabaseError as error:
            raise BookUnavailable(str(error)) from error

    async def cancel(self, appointment_id: str) -> Appointment:
        """See `AppointmentBook`."""

        def change(connection: sqlite3.Connection) -> Appointment:
            appointment = _get(connection, appointment_id)
            connection.execute(
                "UPDATE appointments SET cancelled_at = ? WHERE id = ?",
                (datetime.now().isoformat(timespec="seconds"), appointment_id),
            )
            return appointment

        try:
            return await self._database.write(change)
        except DatabaseError as error:
            raise BookUnavailable(str(error)) from error


_SELECT = "SELECT id, name, day, time, reason FROM appointments"


def _hhmm(moment: time) -> str:
    return moment.strftime("%H:%M")


def _get(connection: sqlite3.Connection, appointment_id: str) -> Appointment:
    row = connection.execute(
        f"{_SELECT} WHERE id = ? AND cancelled_at IS NULL", (appointment_id,)
    ).fetchone()
    if row is None:
        raise UnknownAppointment
    return _appointment(row)


def _appointment(row: tuple[str, str, str, str, str]) -> Appointment:
    return Appointment(
        row[0], row[1], date.fromisoformat(row[2]), time.fromisoformat(row[3]), row[4]
    )
