"""Finds where a speech model went in circles: one phrase many times in a row.

Source of the idea and of its cure, the removal: Baranski et al. 2025, "Investigation of Whisper ASR
Hallucinations Induced by Non-Speech Audio" (arXiv:2501.11378), where it is called delooping.
"""

import re
from typing import Final

_LOOP_WORDS: Final = ((1, 8), (2, 5), (4, 3))
"""(words of a phrase, times in a row from which it is a loop). Phone numbers hold one digit several
times and callers say "no, no, no"; nobody says four words three times over."""
_LONGEST_PHRASE: Final = 20


def without_loops(text: str, fewest_rounds: int = 1) -> str:
    """The text with every loop cut to one round; the text itself where there is none.

    Args:
        text: what the model wrote.
        fewest_rounds: what is repeated less often is never a loop.
    """
    words = text.split()
    keys = [re.sub(r"\W+", "", word).lower() or word for word in words]
    kept: list[str] = []
    position = 0
    while position < len(words):
        length, rounds = _loop_at(keys, position, fewest_rounds)
        kept += words[position : position + length]
        position += length * rounds
    return text if len(kept) == len(words) else " ".join(kept)


def _loop_at(words: list[str], start: int, fewest_rounds: int) -> tuple[int, int]:
    """Words of the phrase that loops from here and its rounds; (1, 1) where none does."""
    left = len(words) - start
    for length in range(1, min(_LONGEST_PHRASE, left // 2) + 1):
        phrase = words[start : start + length]
        rounds = 1
        while words[start + rounds * length : start + (rounds + 1) * length] == phrase:
            rounds += 1
        if rounds >= max(fewest_rounds, _rounds_of_a_loop(length)):
            return length, rounds
    return 1, 1


def _rounds_of_a_loop(length: int) -> int:
    return min(rounds for words, rounds in _LOOP_WORDS if words <= length)
