"""Word pieces: what the responder streams and counts where a model has tokens."""

import re
from collections.abc import Iterator, Sequence

PIECE_CHARS = 6
"""Longest piece of a word, characters; longer words are cut, as a model's tokenizer does."""

_PIECE = re.compile(rf"\s*(?:\w{{1,{PIECE_CHARS}}}|[^\w\s])|\s+")


def split_pieces(text: str) -> list[str]:
    """Cut a text into pieces that join to exactly the same text."""
    return _PIECE.findall(text)


def count_tokens(texts: Sequence[str]) -> int:
    """Number of pieces of several texts."""
    return sum(1 for text in texts for _ in _iterate(text))


def _iterate(text: str) -> Iterator[re.Match[str]]:
    return _PIECE.finditer(text)
