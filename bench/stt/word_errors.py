"""Word error rate: how many words were missed, invented or mistaken."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

_NORMAL_95: Final = 1.96
_SPELLINGS: Final = {"ok": "okay", "good-bye": "goodbye", "oh": "zero"}
"""Written either way by one and the same ear, and no error."""
_DIGITS: Final = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
)  # fmt: skip
_NO_WORD = re.compile(r"[^\w\s']+")


def words(text: str) -> list[str]:
    """The words of a text, lower case, without punctuation."""
    return _NO_WORD.sub(" ", text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")).split()


def spelled(text: str) -> str:
    """A text with one spelling for what is written in two ways, and digits as words."""
    for other, ours in _SPELLINGS.items():
        text = re.sub(rf"\b{other}\b", ours, text, flags=re.IGNORECASE)
    return re.sub(r"\d", lambda digit: f" {_DIGITS[int(digit[0])]} ", text, flags=re.ASCII)


def word_errors(truth: Sequence[str], heard: Sequence[str]) -> int:
    """Fewest words to replace, insert or delete (Levenshtein distance)."""
    row = list(range(len(heard) + 1))
    for index, true_word in enumerate(truth, 1):
        diagonal, row[0] = row[0], index
        for column, word in enumerate(heard, 1):
            diagonal, row[column] = (
                row[column],
                min(row[column] + 1, row[column - 1] + 1, diagonal + (true_word != word)),
            )
    return row[-1]


def word_error_rate(pairs: Iterable[tuple[str, str]]) -> float | None:
    """Errors of all pairs divided by the words of all truths.

    Args:
        pairs: what was said and what was heard.

    Returns:
        None where nothing was said.
    """
    errors = spoken = 0
    for truth, heard in pairs:
        true_words = words(truth)
        errors += word_errors(true_words, words(heard))
        spoken += len(true_words)
    return errors / spoken if spoken else None


@dataclass(frozen=True)
class Difference:
    """Word error rates of two hearings of the same recordings, one less the other."""

    points: float
    """Percentage points."""
    margin_points: float
    """Half of the 95 % confidence interval. Hearings of one recording are not independent: the
    recordings are what was sampled."""
    words: int
    """Words said in all."""


def difference(by_recording: Iterable[tuple[str, int, int]]) -> Difference | None:
    """The difference of two word error rates and how sure it is.

    Args:
        by_recording: for each hearing the recording's name, the words said, and the errors of one
            hearing less those of the other.

    Returns:
        None where nothing was said.
    """
    words_said = 0
    extra: Counter[str] = Counter()
    for name, said, more in by_recording:
        words_said += said
        extra[name] += more
    if not words_said:
        return None
    # A ratio of sums, clustered by recording.
    deviation = math.sqrt(sum(more**2 for more in extra.values())) / words_said
    share = extra.total() / words_said
    return Difference(100 * share, 100 * _NORMAL_95 * deviation, words_said)
