import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.stt.word_errors import Difference, difference, word_error_rate, word_errors, words

TEXTS = st.lists(st.sampled_from("abcd"), max_size=8)


def test_words_are_compared_without_case_and_punctuation() -> None:
    assert words("Yes, I'm HERE!\nIt\u2019s fine.") == ["yes", "i'm", "here", "it's", "fine"]


@pytest.mark.parametrize(
    ("truth", "heard", "errors"),
    [
        ("a b c", "a b c", 0),
        ("a b c", "a x c", 1),
        ("a b c", "a c", 1),
        ("a b c", "a b b c", 1),
        ("a b c", "", 3),
        ("", "a b", 2),
        ("a b c d", "b c d e", 2),
    ],
)
def test_errors_are_counted(truth: str, heard: str, errors: int) -> None:
    assert word_errors(truth.split(), heard.split()) == errors


@given(TEXTS, TEXTS, TEXTS)
def test_it_is_a_distance(one: list[str], two: list[str], three: list[str]) -> None:
    assert word_errors(one, two) == word_errors(two, one)
    assert (word_errors(one, two) == 0) == (one == two)
    assert word_errors(one, three) <= word_errors(one, two) + word_errors(two, three)


def test_the_rate_is_over_all_words_said() -> None:
    assert word_error_rate([("one two three", "one two"), ("four", "four")]) == 0.25


def test_without_words_there_is_no_rate() -> None:
    assert word_error_rate([("", "a")]) is None
    assert word_error_rate([]) is None


def test_two_hearings_that_are_the_same_differ_by_nothing() -> None:
    assert difference([("a", 10, 0), ("b", 10, 0)]) == Difference(0.0, 0.0, 20)


def test_hearing_a_recording_again_makes_the_difference_no_surer() -> None:
    once = difference([("a", 10, 1), ("b", 10, 0)])
    often = difference([("a", 10, 1), ("b", 10, 0)] * 50)
    assert once is not None
    assert often is not None
    assert often.points == pytest.approx(once.points)
    assert often.margin_points == pytest.approx(once.margin_points)
    assert often.words == 1000


def test_without_words_there_is_no_difference() -> None:
    assert difference([]) is None
