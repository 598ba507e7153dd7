"""What the language model of the bench says: the same for both wirings, whatever it is asked.

A real model would answer both wirings differently and at different lengths; a script keeps what is
compared to the turn itself.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

SHORT_INSTRUCTIONS: Final = "You answer the telephone. Answer in one short sentence."
LONG_INSTRUCTIONS: Final = "You answer the telephone. Answer at length."
"""For calls in which the caller speaks while the agent does."""
GREETING: Final = "Hello, I am a machine."
DISCLOSURE: Final = "I am a machine."

_SHORT: Final = (
    "Yes, that is no trouble at all.",
    "Of course, I can do that for you.",
    "Thank you, I have made a note of it.",
    "Good, that is all I need to know.",
)
_LONG: Final = (
    "Of course, I can tell you all about that and it will take a little while because there is "
    "quite a lot to say about how we work and about what you can expect from us when you come to "
    "see us for the first time and on every day after that. "
    "We open early in the morning and we stay open until the late afternoon so that people who "
    "work can come to us as well and nobody has to wait for long before one of our colleagues "
    "has the time to look after them and to answer all of their questions in peace. "
    "When you arrive you go through the main door and up the stairs to the first floor where you "
    "will find the desk on the left hand side and somebody will be there who knows your name and "
    "takes you to the room in which you will be seen by one of our colleagues a little later. "
    "Afterwards you can take a seat in the garden behind the house where there is coffee and tea "
    "and something to read and you may stay there for as long as you like."
)
"""About forty seconds of speech with few and short pauses."""


def reply_to(messages: Iterable[Mapping[str, Any]]) -> str:
    """The answer to a conversation.

    Args:
        messages: OpenAI chat messages, the instructions first.
    """
    asked = 0
    long = False
    for message in messages:
        if message.get("role") == "user":
            asked += 1
        elif LONG_INSTRUCTIONS in str(message.get("content")):
            long = True
    return _LONG if long else _SHORT[asked % len(_SHORT)]
