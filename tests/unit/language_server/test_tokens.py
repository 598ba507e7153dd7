from hypothesis import given
from hypothesis import strategies as st

from language_server.tokens import PIECE_CHARS, count_tokens, split_pieces


@given(st.text(max_size=300))
def test_pieces_join_to_the_text(text: str) -> None:
    pieces = split_pieces(text)
    assert "".join(pieces) == text
    assert count_tokens([text]) == len(pieces)


def test_long_words_are_cut() -> None:
    assert split_pieces("Good appointment.") == ["Good", " appoin", "tment", "."]
    assert all(len(piece.strip()) <= PIECE_CHARS for piece in split_pieces("x" * 100))
