import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from language_server.slots.plain_text import MAX_CHARS, plain, with_digits


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Hello, WORLD!", "hello world"),
        ("At 3:30 p.m. on 11/24.", "at 3:30 pm on 11/24"),
        ("3.30", "3:30"),
        ("half-past three", "half past three"),
        ("What\u2019s your name?", "what is your name"),
        ("Zo\u00eb", "zoe"),
        ("\u4f60\u597d", ""),
        ("a: b", "a b"),
    ],
)
def test_plain(text: str, words: str) -> None:
    assert plain(text) == words


@pytest.mark.parametrize(
    ("words", "digits"),
    [
        ("three thirty", "3 30"),
        ("the twenty fourth of november", "the 24th of november"),
        ("nothing", "nothing"),
    ],
)
def test_with_digits(words: str, digits: str) -> None:
    assert with_digits(words) == digits


@given(st.text(max_size=500))
def test_plain_text_is_plain(text: str) -> None:
    assert re.fullmatch(r"[a-z0-9:/' -]*", plain(text))
    with_digits(plain(text))


def test_long_text_is_bounded_and_keeps_its_end() -> None:
    assert len(plain("word " * 100_000 + "end")) <= MAX_CHARS
    assert plain("word " * 100_000 + "end").endswith("end")
