import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.dialogue.speech import speak_time
from language_server.slots.times import clock_text, find_time, mentions


def clock(text: str) -> datetime.time:
    return datetime.time.fromisoformat(text)


@pytest.mark.parametrize(
    ("said", "time"),
    [
        ("three thirty", "15:30"),
        ("Half past three.", "15:30"),
        ("half-past 3", "15:30"),
        ("half three", "15:30"),
        ("have passed three", "15:30"),
        ("quarter to four", "15:45"),
        ("a quarter past ten", "10:15"),
        ("quarter of four", "15:45"),
        ("twenty five to four", "15:35"),
        ("ten past nine", "09:10"),
        ("15 minutes past 2", "14:15"),
        ("3:30", "15:30"),
        ("3.30", "15:30"),
        ("at 330.", "15:30"),
        ("330pm", "15:30"),
        ("3 pm", "15:00"),
        ("3 p.m.", "15:00"),
        ("9 A.M.", "09:00"),
        ("15:30", "15:30"),
        ("at three", "15:00"),
        ("at three o'clock", "15:00"),
        ("on Thursday at Elephant Eckluck", "11:00"),
        ("at elephant thirty", "11:30"),
        ("nine oh five", "09:05"),
        ("at noon", "12:00"),
        ("eight in the morning", "08:00"),
        ("six in the evening", "18:00"),
        ("at free thirty", "15:30"),
        ("at for thirty", "16:30"),
        ("at to thirty", "14:30"),
        ("Tuesday at 3:30 p.m. my name is Peter Miller", "15:30"),
        ("on the 24th at ten fifteen", "10:15"),
        ("November 24th at 3:30", "15:30"),
        ("in two days at ten", "10:00"),
        ("not at three, at four", "16:00"),
        ("move my three o'clock to four", "16:00"),
        ("from three to half past four", "16:30"),
        ("at 8 o'clock", "08:00"),
        ("twelve thirty", "12:30"),
        ("12 a.m.", "00:00"),
    ],
)
def test_finds_the_time(said: str, time: str) -> None:
    assert find_time(said) == clock(time)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hello",
        "I have 2 kids",
        "one moment please",
        "on the 24th",
        "November 24th",
        "2026-11-24",
        "my number is 4155550199",
        "25:99",
        "the one on Wednesday",
    ],
)
def test_finds_no_time_where_there_is_none(said: str) -> None:
    assert find_time(said) is None


@pytest.mark.parametrize(
    ("said", "time"), [("three", "15:00"), ("330", "15:30"), ("maybe nine?", "09:00")]
)
def test_a_lone_number_counts_when_a_time_was_asked_for(said: str, time: str) -> None:
    assert find_time(said) is None
    assert find_time(said, bare=True) == clock(time)


def test_the_one_is_no_number() -> None:
    assert find_time("the one on Wednesday", bare=True) is None


@given(st.times(min_value=datetime.time(8), max_value=datetime.time(17, 59)))
def test_what_we_say_is_understood_again(time: datetime.time) -> None:
    time = time.replace(second=0, microsecond=0)
    assert find_time(f"on Tuesday at {speak_time(time)}") == time


@given(st.times(min_value=datetime.time(8), max_value=datetime.time(17, 59)), st.booleans())
def test_digits_are_understood_in_both_clocks(time: datetime.time, twelve: bool) -> None:
    hour = (time.hour - 1) % 12 + 1 if twelve else time.hour
    assert find_time(f"at {hour}:{time.minute:02}") == time.replace(second=0, microsecond=0)


@given(st.text(max_size=300), st.booleans())
def test_never_raises_and_stays_within_the_text(text: str, bare: bool) -> None:
    digits = clock_text(text)
    for mention in mentions(digits, bare=bare):
        assert 0 <= mention.start < mention.end <= len(digits)
    find_time(text, bare=bare)
