"""What Orpheus is asked: the layout of its prompt, its voices, its tags, how long it may speak.

Sources, where nothing else is said: `engine_class.py` and `decoder.py` of canopyai/Orpheus-TTS at
835ac7c, and the tokenizer of Llama 3.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from speech_server.tts.engine import Voice
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, SAMPLE_RATE_HZ, SLOTS

BEGIN_OF_TEXT: Final = 128_000
"""`<|begin_of_text|>`. Source: Llama 3."""
END_OF_TURN: Final = 128_009
"""`<|eot_id|>`, after the text. Source: Llama 3, `engine_class.py`."""
START_OF_SPEECH: Final = 128_257
"""`<custom_token_1>`, the last token of the prompt. Source: `engine_class.py`."""
START_OF_HUMAN: Final = 128_259
"""`<custom_token_3>`, the first token of the prompt. Source: `engine_class.py`."""
END_OF_HUMAN: Final = 128_260
"""`<custom_token_4>`. Source: `engine_class.py`."""
START_OF_AI: Final = 128_261
"""`<custom_token_5>`. Source: `engine_class.py`."""

_FIRST_SPECIAL_ID: Final = 128_000
"""Ids from here on are control tokens and codes; text has none of them. Source: Llama 3."""

VOICES: Final = (
    Voice("tara", "en-US", "female"),
    Voice("leo", "en-US", "male"),
    Voice("leah", "en-US", "female"),
    Voice("jess", "en-US", "female"),
    Voice("dan", "en-US", "male"),
    Voice("mia", "en-US", "female"),
    Voice("zac", "en-US", "male"),
    Voice("zoe", "en-US", "female"),
)
"""The voices of `orpheus-3b-0.1-ft`. Source: its README; a male voice comes second, where aliases
look for one that differs from the first."""

TAGS: Final = (
    "<laugh>", "<chuckle>", "<sigh>", "<cough>", "<sniffle>", "<groan>", "<yawn>", "<gasp>",
)  # fmt: skip
"""Sounds that a text may ask for. To the tokenizer they are ordinary text. Source: the
model card."""

MAX_PROMPT_TOKENS: Final = 1_536
"""Longest prompt. A segment has 300 characters at most, of four bytes at most, and a byte is at
most one token."""
MAX_TOKENS: Final = 8_192
"""Prompt and speech together. Source: the length that the model was trained with."""

_BASE_S: Final = 4.0
"""Silence before and after, and one long breath."""
_CHARACTER_S: Final = 0.13
"""Twice the time that an unhurried reader takes for a character (15 a second)."""
_DIGIT_S: Final = 0.6
"""A digit is a word, and "1" may be "one thousand"."""
_TAG_S: Final = 2.5
"""A long yawn."""
_HURRIED_CHARACTER_S: Final = 0.03
"""Half the time that a hurried speaker takes for a character (17 a second)."""

_ALLOWED_TAG = re.compile("(" + "|".join(TAGS) + ")", re.IGNORECASE)
_BRACKETED = re.compile(r"<[^<>]*>")
_BRACKETS = str.maketrans("<>|", "   ")


def neutralise(text: str) -> str:
    """The text with every control token removed; only the known sounds stay in angle brackets.

    What is left holds no `<`, `>` or `|` outside of those, so that nothing in it can be read as a
    control token or be joined to one.
    """
    parts = _ALLOWED_TAG.split(text)
    kept = [
        part.lower() if index % 2 else _BRACKETED.sub(" ", part).translate(_BRACKETS)
        for index, part in enumerate(parts)
    ]
    return " ".join("".join(kept).split())


def speakable(text: str) -> bool:
    """Whether there is a word or a known sound in a neutralised text."""
    return any(char.isalnum() for char in text)


def token_budget(text: str) -> int:
    """Most tokens that a neutralised text can need; more is the model running away.

    Returns:
        Tokens, a whole number of frames, about three times what is usual.
    """
    plain, tags = _ALLOWED_TAG.subn("", text)
    digits = sum(char.isdigit() for char in plain)
    duration_s = _BASE_S + _CHARACTER_S * (len(plain) - digits) + _DIGIT_S * digits + _TAG_S * tags
    return SLOTS * round(duration_s * SAMPLE_RATE_HZ / FRAME_SAMPLES)


def shortest_s(text: str) -> float:
    """Least time that a neutralised text can take; less is the model leaving something out.

    Returns:
        Seconds, about half of what is usual.
    """
    return _HURRIED_CHARACTER_S * len(_ALLOWED_TAG.sub("", text))


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model is asked to say."""

    ids: tuple[int, ...]
    """Token ids up to the start of speech."""
    budget: int
    """Most tokens of speech; see `token_budget`."""
    shortest_s: float
    """Least duration, seconds; see the function `shortest_s`."""


def build_prompt(text: str, voice: str, encode: Callable[[str], list[int]]) -> Prompt:
    """Lay out the prompt of one segment.

    Args:
        text: what to say, neutralised.
        voice: id of one of `VOICES`.
        encode: the tokenizer, without special tokens of its own.

    Raises:
        ValueError: the text has more tokens than a prompt may have.
    """
    # Whatever the tokenizer makes of the text: no id of it can be a control token or a code.
    text_ids = [id_ for id_ in encode(f"{voice}: {text}") if 0 <= id_ < _FIRST_SPECIAL_ID]
    ids = (
        START_OF_HUMAN,
        BEGIN_OF_TEXT,
        *text_ids,
        END_OF_TURN,
        END_OF_HUMAN,
        START_OF_AI,
        START_OF_SPEECH,
    )
    if len(ids) > MAX_PROMPT_TOKENS:
        raise ValueError(f"a prompt of {len(ids)} tokens; {MAX_PROMPT_TOKENS} are allowed")
    return Prompt(ids, min(token_budget(text), MAX_TOKENS - len(ids)), shortest_s(text))
