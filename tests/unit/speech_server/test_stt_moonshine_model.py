"""The files of Moonshine: its vocabulary, and what is said when one is missing or broken."""

from pathlib import Path

import pytest

from speech_server.stt.moonshine_model import MoonshineModel, Vocabulary

BLANK = "\N{LOWER ONE EIGHTH BLOCK}".encode()


def packed(*tokens: bytes) -> bytes:
    return b"".join(bytes([len(token)]) + token for token in tokens)


def test_tokens_become_text() -> None:
    words = Vocabulary(packed(b"<s>", BLANK + b"Hel", b"lo", BLANK + b"there"))
    assert words.text([1, 2, 3]) == "Hello there"


def test_marks_of_control_say_nothing() -> None:
    words = Vocabulary(packed(b"<unk>", b"<s>", b"</s>", b"<<ST_12>>", BLANK + b"yes"))
    assert words.text([1, 0, 3, 4, 2]) == "yes"


def test_a_letter_may_be_in_several_tokens() -> None:
    words = Vocabulary(packed(b"\xc3", b"\xa9"))
    assert words.text([0, 1]) == "é"
    assert words.text([0]) == "\N{REPLACEMENT CHARACTER}"


def test_a_long_token_has_a_length_of_two_bytes() -> None:
    long = b"ab" * 150
    words = Vocabulary(bytes([300 % 128 + 128, 300 // 128]) + long + packed(b"c"))
    assert words.text([0, 1]) == long.decode() + "c"


@pytest.mark.parametrize("data", [b"\x05abc", b"\xac"], ids=["token", "length"])
def test_a_vocabulary_that_is_cut_off_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="cut off"):
        Vocabulary(data)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.bin").write_bytes(packed(b"<s>"))
    with pytest.raises(FileNotFoundError, match=r"encoder_model\.ort"):
        MoonshineModel(tmp_path)
