import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from speech_server.stt.interim_text import InterimText


def shown(*readings: str) -> list[str]:
    text = InterimText()
    return [text.show(1, reading) for reading in readings]


@pytest.mark.parametrize(
    ("readings", "expected"),
    [
        pytest.param(
            ("I would", "I would like to", "I would like two chairs"),
            ("I would", "I would like to", "I would like two chairs"),
            id="the tail is free",
        ),
        pytest.param(
            ("I would.", "I would like.", "I Would Like to book"),
            ("I would.", "I would like.", "I would Like to book"),
            id="settled words keep their case and punctuation",
        ),
        pytest.param(
            ("I would", "I would like", "Eye wood like", "I would like to"),
            ("I would", "I would like", "I would like", "I would like to"),
            id="one odd reading is not shown",
        ),
        pytest.param(
            ("I would", "I would like", "I wood like a", "I wood like a new"),
            ("I would", "I would like", "I would like", "I wood like a new"),
            id="a change that is confirmed is shown",
        ),
    ],
)
def test_what_is_shown(readings: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert shown(*readings) == list(expected)


def test_a_new_utterance_starts_afresh() -> None:
    text = InterimText()
    text.show(1, "one two")
    text.show(1, "one two three")
    assert text.show(2, "four") == "four"


@example([["b", "a"], ["b", "a", "a"], ["a"], ["a"], ["b", "a"]])
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c"]), max_size=5), min_size=1, max_size=8))
def test_a_word_that_two_readings_agreed_on_changes_only_for_two_others(
    readings: list[list[str]],
) -> None:
    seen = [words.split() for words in shown(*map(" ".join, readings))]
    for index in range(2, len(readings)):
        before, last, now = readings[index - 2 : index + 1]
        # readings shorter than what is settled are not shown, however often they come
        if before == last == seen[index - 1] and last != now[: len(last)]:
            assert seen[index] == seen[index - 1]
