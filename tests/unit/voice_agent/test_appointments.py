import asyncio
import multiprocessing
import sqlite3
from datetime import date, datetime, time
from pathlib import Path

import pytest

from voice_agent.appointments import (
    MAX_FOUND,
    BookUnavailable,
    SlotTaken,
    SqliteAppointmentBook,
    UnknownAppointment,
    name_key,
)
from voice_agent.database import MIGRATIONS, Database, DatabaseError
from voice_agent.handoffs import SqliteHandoffLog

TUESDAY = date(2026, 11, 24)
MORNING = datetime(2026, 11, 21, 10, 15)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "appointments.db"


@pytest.fixture
def book(path: Path) -> SqliteAppointmentBook:
    return SqliteAppointmentBook(Database(path))


async def test_a_booking_is_found_by_another_process_with_another_spelling(
    book: SqliteAppointmentBook, path: Path
) -> None:
    booked = await book.book(name="Zoë O'Neill", day=TUESDAY, time=time(15, 30), reason="check-up")

    other = SqliteAppointmentBook(Database(path))
    assert await other.find("zoe  o neill", since=MORNING) == (booked,)
    assert await other.taken(TUESDAY) == {time(15, 30)}


async def test_a_slot_is_given_once(book: SqliteAppointmentBook) -> None:
    await book.book(name="Peter Miller", day=TUESDAY, time=time(9))
    with pytest.raises(SlotTaken):
        await book.book(name="Anna Smith", day=TUESDAY, time=time(9))
    assert await book.find("Anna Smith", since=MORNING) == ()


async def test_booking_twice_under_one_name_is_one_appointment(
    book: SqliteAppointmentBook,
) -> None:
    first = await book.book(name="Peter Miller", day=TUESDAY, time=time(9))
    assert await book.book(name="peter miller", day=TUESDAY, time=time(9)) == first


async def test_twenty_callers_at_once_get_one_slot_between_them(path: Path) -> None:
    books = [SqliteAppointmentBook(Database(path)) for _ in range(20)]
    results = await asyncio.gather(
        *(
            book.book(name=f"Caller {chr(65 + index)}", day=TUESDAY, time=time(9))
            for index, book in enumerate(books)
        ),
        return_exceptions=True,
    )
    assert sum(not isinstance(result, BaseException) for result in results) == 1
    assert {type(result) for result in results if isinstance(result, BaseException)} == {SlotTaken}


def _book_in_process(path: Path, name: str) -> bool:
    book = SqliteAppointmentBook(Database(path))
    try:
        asyncio.run(book.book(name=name, day=TUESDAY, time=time(9)))
    except SlotTaken:
        return False
    return True


def test_two_processes_cannot_double_book(path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        won = pool.starmap(_book_in_process, [(path, "Peter Miller"), (path, "Anna Smith")])
    assert sorted(won) == [False, True]


async def test_first_use_by_several_at_once_waits_instead_of_failing(tmp_path: Path) -> None:
    for attempt in range(30):
        path = tmp_path / f"{attempt}.db"
        days = await asyncio.gather(
            *(SqliteAppointmentBook(Database(path)).taken(TUESDAY) for _ in range(4))
        )
        assert days == [frozenset()] * 4


async def test_a_cancelled_slot_is_free_again(book: SqliteAppointmentBook) -> None:
    booked = await book.book(name="Peter Miller", day=TUESDAY, time=time(9))
    assert await book.cancel(booked.id) == booked
    assert await book.taken(TUESDAY) == frozenset()
    with pytest.raises(UnknownAppointment):
        await book.cancel(booked.id)
    again = await book.book(name="Anna Smith", day=TUESDAY, time=time(9))
    assert again.id != booked.id


async def test_a_move_onto_a_taken_slot_changes_nothing(book: SqliteAppointmentBook) -> None:
    await book.book(name="Anna Smith", day=TUESDAY, time=time(9))
    mine = await book.book(name="Peter Miller", day=TUESDAY, time=time(10))
    with pytest.raises(SlotTaken):
        await book.move(mine.id, day=TUESDAY, time=time(9))
    assert await book.find("Peter Miller", since=MORNING) == (mine,)

    moved = await book.move(mine.id, day=TUESDAY, time=time(11))
    assert moved.starts_at == datetime(2026, 11, 24, 11)
    with pytest.raises(UnknownAppointment):
        await book.move("00000000", day=TUESDAY, time=time(12))


async def test_only_coming_appointments_are_found_and_not_too_many(
    book: SqliteAppointmentBook,
) -> None:
    for hour in range(8, 8 + MAX_FOUND + 2):
        await book.book(name="Peter Miller", day=TUESDAY, time=time(hour))
    found = await book.find("Peter Miller", since=datetime(2026, 11, 24, 9, 0))
    assert [appointment.time.hour for appointment in found] == list(range(9, 9 + MAX_FOUND))


async def test_hostile_text_stays_text(book: SqliteAppointmentBook) -> None:
    name = "Robert'); DROP TABLE appointments;--"
    booked = await book.book(name=name, day=TUESDAY, time=time(9), reason="'; DELETE")
    assert (await book.find(name, since=MORNING))[0] == booked


async def test_an_unusable_file_is_said_to_be_one(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("x")
    book = SqliteAppointmentBook(Database(blocked / "appointments.db"))
    with pytest.raises(BookUnavailable, match=r"appointments\.db"):
        await book.taken(TUESDAY)

    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database at all" * 100)
    with pytest.raises(BookUnavailable, match=r"garbage\.db"):
        await SqliteAppointmentBook(Database(garbage)).find("Peter Miller", since=MORNING)


async def test_a_file_of_a_newer_version_is_refused_and_left_alone(path: Path) -> None:
    path.parent.mkdir()
    newer = len(MIGRATIONS) + 1
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {newer}")
    connection.close()
    with pytest.raises(DatabaseError, match="newer Parley"):
        await Database(path).read(lambda connection: None)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone() == (newer,)
    connection.close()


async def test_a_change_that_fails_writes_nothing(path: Path) -> None:
    database = Database(path)

    def change(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO handoffs (room, reason, created_at) VALUES ('r', '', '')")
        raise ValueError("half way")

    with pytest.raises(ValueError, match="half way"):
        await database.write(change)
    count = await database.read(
        lambda connection: connection.execute("SELECT count(*) FROM handoffs").fetchone()
    )
    assert count == (0,)


async def test_a_request_for_a_person_is_written_down(path: Path) -> None:
    database = Database(path)
    await SqliteHandoffLog(database).add(room="room-1", reason="invoice")
    rows = await database.read(
        lambda connection: connection.execute("SELECT room, reason FROM handoffs").fetchall()
    )
    assert rows == [("room-1", "invoice")]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Peter Miller", " peter   MILLER "), ("José Peña", "Jose Pena"), ("O'Neill", "O Neill")],
)
def test_names_that_sound_alike_are_alike(one: str, other: str) -> None:
    assert name_key(one) == name_key(other)
