import datetime

import pytest

from language_server.dialogue.speech import (
    first_sentence,
    fresh,
    join,
    sentence,
    speak_day,
    speak_slots,
    speak_time,
    vary,
)


@pytest.mark.parametrize(
    ("time", "words"),
    [
        ("15:30", "three thirty p.m."),
        ("09:00", "nine a.m."),
        ("12:00", "noon"),
        ("12:30", "twelve thirty p.m."),
        ("00:05", "twelve oh five a.m."),
        ("17:45", "five forty-five p.m."),
    ],
)
def test_times(time: str, words: str) -> None:
    assert speak_time(datetime.time.fromisoformat(time)) == words


@pytest.mark.parametrize(
    ("day", "words"),
    [
        ("2026-11-24", "Tuesday the 24th of November"),
        ("2026-12-01", "Tuesday the 1st of December"),
        ("2026-12-11", "Friday the 11th of December"),
        ("2026-12-22", "Tuesday the 22nd of December"),
        ("2026-12-03", "Thursday the 3rd of December"),
        ("2026-12-31", "Thursday the 31st of December"),
    ],
)
def test_days(day: str, words: str) -> None:
    assert speak_day(datetime.date.fromisoformat(day)) == words


def test_lists() -> None:
    assert join([]) == ""
    assert join(["a"]) == "a"
    assert join(["a", "b", "c"], "or") == "a, b or c"


def test_many_slots_are_summed_up() -> None:
    slots = [datetime.time(hour) for hour in range(8, 18)]
    assert speak_slots(slots[:2]) == "eight a.m. and nine a.m."
    assert "for example eight a.m., one p.m. or five p.m." in speak_slots(slots)


def test_one_full_stop() -> None:
    assert sentence("at nine a.m.") == "at nine a.m."
    assert sentence("at noon") == "at noon."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("That time is already taken. Offer another.", "That time is already taken."),
        ("closed", "closed."),
        ("Call find_appointment first.", None),
        ('{"a": 1}', None),
        ("Traceback (most recent call last)", None),
        ("x" * 500, None),
        ("*", None),
        ("**Closed** today", None),
        ("...", None),
        ("", None),
    ],
)
def test_foreign_text_is_said_only_where_it_can_be(text: str, said: str | None) -> None:
    assert first_sentence(text, 100) == said


def test_nothing_is_said_twice_in_the_same_words() -> None:
    assert fresh("Hello.", "Goodbye.") == "Hello."
    again = fresh("Hello.", "Hello.")
    assert again != "Hello."
    assert "Hello." in again
    assert fresh(again, again) == "Hello."
    assert fresh("", "") == ""


def test_wordings_take_turns() -> None:
    assert vary(("a1", "b2"), "") == "a1"
    assert vary(("a1", "b2"), "so: a1") == "b2"
