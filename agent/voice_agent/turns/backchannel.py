"""What listeners say without wanting to speak: "mhm", "okay", "I see"."""

import re
from typing import Final

_SIGNS: Final = (
    "mhm mm mmm mmhm hm hmm huh uh uhhuh ah oh aha okay ok yeah yep yup yes right sure good great "
    "fine cool nice perfect alright exactly true really wow"
)
_ALONE: Final = frozenset(_SIGNS.split())
"""Words that are a back-channel alone or after one another."""
_PHRASES: Final = (
    "i see", "all right", "uh huh", "mm hmm", "mm hm", "got it", "of course", "i understand",
    "that's right", "that's good", "sounds good", "makes sense", "go on",
)  # fmt: skip
_FLOOR_WORDS: Final = (
    "stop wait no nope not hold hang sorry excuse pardon what who why when where how which but "
    "actually hello help please repeat again slow enough listen question wrong"
)
_ANSWERS: Final = (
    "monday tuesday wednesday thursday friday saturday sunday today tomorrow tonight morning noon "
    "afternoon evening none both first second third last one two three four five six seven eight "
    "nine ten eleven twelve cancel"
)
_WANTS_THE_FLOOR: Final = frozenset(f"{_FLOOR_WORDS} {_ANSWERS}".split())
"""Words that are none, however short: they stop the agent, or answer it."""
_HARDLY_A_WORD_S: Final = 0.7
"""A sound so short is one whatever was read in it, unless that wants the floor: recognisers read
"uh huh" as "that might" and a hum as a question. Chosen on the tuned part of the recorded set."""
_MOST_WORDS: Final = 4
LONGEST_S: Final = 1.2
"""Longer sounds are no back-channel, whatever was read in them, seconds."""
_WORD: Final = re.compile(r"[\w']+")


def is_backchannel(text: str, duration_s: float) -> bool:
    """Whether words said while the agent speaks leave it the floor.

    Args:
        text: the transcript, with or without punctuation; nothing read is no back-channel.
        duration_s: from the beginning of the speech to its end, seconds.
    """
    words = _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))
    if not 0 < len(words) <= _MOST_WORDS or duration_s > LONGEST_S:
        return False
    if duration_s <= _HARDLY_A_WORD_S and not _WANTS_THE_FLOOR.intersection(words):
        return True
    if "?" in text:
        return False
    said = f" {' '.join(words)} "
    for phrase in _PHRASES:
        said = said.replace(f" {phrase} ", "  ")
    return all(word in _ALONE for word in said.split())
