from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.options import BadOption
from bench.tts.replies import read_replies, tiny_voice_replies, tokens_of
from tests.tiny_voice import sentences


@given(st.text(max_size=200))
def test_the_tokens_are_the_text(text: str) -> None:
    assert "".join(tokens_of(text)) == text


def test_tokens_are_as_short_as_a_model_s() -> None:
    assert tokens_of("Of course, Wednesday.") == ["Of", " cours", "e", ",", " Wedne", "sday", "."]


def test_the_demo_s_replies_are_read() -> None:
    replies = read_replies()
    assert len(replies) == len(set(replies)) > 20
    assert all(reply == reply.strip() for reply in replies)


def test_a_file_of_one_s_own(tmp_path: Path) -> None:
    file = tmp_path / "texts.txt"
    file.write_text("Good evening.\n\n  Please hold. \n", encoding="utf-8")
    assert read_replies(file) == ["Good evening.", "Please hold."]


@pytest.mark.parametrize("content", [None, b"", b"\n \n", b"\xff\xfe"])
def test_a_file_of_no_use_is_told(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "texts.txt"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(BadOption, match=r"texts\.txt"):
        read_replies(file)


def test_the_tiny_voice_says_its_sentences() -> None:
    assert tiny_voice_replies() == sentences()
