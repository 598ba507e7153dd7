import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.dialogue.speech import speak_day
from language_server.slots.dates import WEEKDAYS, find_day

SATURDAY = datetime.date(2026, 11, 21)
MONDAY = datetime.date(2026, 11, 23)


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("today", "2026-11-21"),
        ("this afternoon", "2026-11-21"),
        ("tomorrow", "2026-11-22"),
        ("to morrow", "2026-11-22"),
        ("the day after tomorrow", "2026-11-23"),
        ("on Tuesday", "2026-11-24"),
        ("next Tuesday", "2026-11-24"),
        ("this Saturday", "2026-11-21"),
        ("Saturday", "2026-11-28"),
        ("Tuesday next week", "2026-11-24"),
        ("next week on Tuesday", "2026-11-24"),
        ("a week from Tuesday", "2026-12-01"),
        ("Tuesday week", "2026-12-01"),
        ("the 24th", "2026-11-24"),
        ("the twenty-fourth", "2026-11-24"),
        ("the third", "2026-12-03"),
        ("the thirty first", "2026-12-31"),
        ("November 24th", "2026-11-24"),
        ("November 24", "2026-11-24"),
        ("November the twenty fourth", "2026-11-24"),
        ("24 November", "2026-11-24"),
        ("Tuesday the 24th of November", "2026-11-24"),
        ("the 5th of January", "2027-01-05"),
        ("11/24", "2026-11-24"),
        ("2026-11-24", "2026-11-24"),
        ("in two weeks", "2026-12-05"),
        ("in 3 days", "2026-11-24"),
        ("on two's day", "2026-11-24"),
        ("Tues day at 3 30", "2026-11-24"),
        ("chews day", "2026-11-24"),
        ("wensday", "2026-11-25"),
        ("wednessday", "2026-11-25"),
        ("thirst day", "2026-11-26"),
        ("on thirsty", "2026-11-26"),
        ("Menton Tuesie", "2026-11-24"),
        ("not Tuesday, Wednesday", "2026-11-25"),
        ("move my Tuesday appointment to Thursday", "2026-11-26"),
    ],
)
def test_finds_the_day(said: str, day: str) -> None:
    assert find_day(said, SATURDAY) == datetime.date.fromisoformat(day)


def test_next_means_the_coming_week() -> None:
    assert find_day("Wednesday", MONDAY) == datetime.date(2026, 11, 25)
    assert find_day("next Wednesday", MONDAY) == datetime.date(2026, 12, 2)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "the first available slot",
        "November 31st",
        "one second please",
        "2026-13-45",
        "99/99",
        "may I ask something",
        "happy birthday",
        "yesterday",
    ],
)
def test_finds_no_day_where_there_is_none(said: str) -> None:
    assert find_day(said, SATURDAY) is None


@given(st.dates(datetime.date(2020, 1, 1), datetime.date(2090, 1, 1)), st.integers(0, 300))
def test_what_we_say_is_understood_again(today: datetime.date, ahead: int) -> None:
    day = today + datetime.timedelta(days=ahead)
    if (day.month, day.day) != (2, 29):
        assert find_day(f"Please on {speak_day(day)} then.", today) == day


@given(st.dates(), st.sampled_from(WEEKDAYS))
def test_a_weekday_lies_within_the_coming_seven_days(today: datetime.date, weekday: str) -> None:
    day = find_day(f"on {weekday}", today)
    if day is not None:  # the calendar ends in the year 9999
        assert day.weekday() == WEEKDAYS.index(weekday)
        assert 1 <= (day - today).days <= 7


@given(st.text(max_size=300), st.dates())
def test_never_raises(text: str, today: datetime.date) -> None:
    day = find_day(text, today)
    assert day is None or isinstance(day, datetime.date)


CALENDAR_WORDS = (
    "on", "the", "next", "week", "of", "31", "29", "february", "30", "12/31", "tuesday",
    "a", "in", "99", "days", "weeks", "day", "from", "9999-12-31",
    "0000-00-00", "tomorrow", "first", "after",
)  # fmt: skip


@given(
    st.lists(
        st.sampled_from(CALENDAR_WORDS),
        max_size=12,
    ),
    st.dates(),
)
def test_never_raises_on_calendar_words(words: list[str], today: datetime.date) -> None:
    find_day(" ".join(words), today)
