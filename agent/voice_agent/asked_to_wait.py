"""Whether a caller has asked us to wait: they look something up, or speak with somebody else."""

import re
from typing import Final

_WORD: Final = re.compile(r"[\w']+")
_MOST_WORDS: Final = 12
"""A longer turn asks for more than a moment."""
_WHILE: Final = r"(?:(?:a|one|just a|just one) )?(?:little )?(?:moment|minute|second|sec|bit)"
_ASKS: Final = re.compile(
    rf"\b(?:hold on|hang on|hold the line|bear with me|(?:one|just an?|just one) "
    rf"(?:moment|minute|second|sec)|(?:wait|give me|need|takes?) {_WHILE}|let me "
    rf"(?:just )?(?:check|look|see|find|get|fetch|ask))\b"
)


def asked_to_wait(text: str) -> bool:
    """Whether a turn asks for a moment; English, other languages never do.

    Args:
        text: the transcript, with or without punctuation.
    """
    words = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    return len(words) <= _MOST_WORDS and _ASKS.search(" ".join(words)) is not None
