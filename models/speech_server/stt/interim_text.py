"""Interim texts that do not flicker: words that two readings agreed on stay as they were shown.

A model that reads a growing utterance again and again changes its mind about the last words, and
now and then, for one reading, about earlier ones.
"""

from collections.abc import Sequence
from itertools import takewhile


class InterimText:
    """What to show of each reading of an utterance. One for each stream."""

    def __init__(self) -> None:
        self._utterance = -1
        self._forget()

    def _forget(self) -> None:
        self._last: list[str] = []
        self._settled: list[str] = []
        self._shown = ""

    def show(self, utterance: int, text: str) -> str:
        """The text to show for a new reading.

        Words settle when two readings in a row agree on them. A reading that differs in a settled
        word is not shown, unless the next one confirms it.

        Args:
            utterance: number of the utterance; a new one starts afresh.
            text: what the model read, from the utterance's beginning.
        """
        if utterance != self._utterance:
            self._utterance = utterance
            self._forget()
        words = text.split()
        agreed = words[: _agreement(words, self._last)]
        self._last = words
        settled = len(self._settled)
        if _agreement(words, self._settled) == settled:
            words[:settled] = self._settled
            self._settled += agreed[settled:]
        elif len(agreed) >= settled:
            self._settled = agreed
        else:
            return self._shown
        self._shown = " ".join(words)
        return self._shown


def _agreement(words: Sequence[str], others: Sequence[str]) -> int:
    """Number of words from the first on that are the same but for case and punctuation."""
    pairs = zip(words, others, strict=False)
    return len(list(takewhile(lambda pair: _bare(pair[0]) == _bare(pair[1]), pairs)))


def _bare(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))
