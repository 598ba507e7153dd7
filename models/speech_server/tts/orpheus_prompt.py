"""What Orpheus is asked: the layout of its prompt, its voices, its tags, how long it may speak.

Sources, where nothing else is said: `engine_class.py` and `decoder.py` of canopyai/Orpheus-TTS at
835ac7c, and the tokenizer of Llama 3.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from speech_server.tts.engine import Voice
from speech_server.tts.orpheus_codes import (
    BEGIN_OF_TEXT_ID,
    END_OF_AI_ID,
    END_OF_HUMAN_ID,
    END_OF_SPEECH_ID,
    END_OF_TURN_ID,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    SLOTS,
    START_OF_AI_ID,
    START_OF_HUMAN_ID,
    START_OF_SPEECH_ID,
)

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

_ALLOWED_TAG = re.compile("(" + "|".join(TAGS) + ")", re.IGNORECASE | re.ASCII)
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


def behind(turns: Sequence[int], prompt: Prompt) -> Prompt:
    """The prompt behind what was said before it.

    Args:
        turns: token ids of earlier segments, each as `turn` makes it.
        prompt: what to say now.
    """
    ids = (*turns, *prompt.ids)
    return Prompt(ids, min(prompt.budget, MAX_TOKENS - len(ids)), prompt.shortest_s)


def turn(prompt: Prompt, speech: Sequence[int]) -> tuple[int, ...]:
    """A segment that has been spoken, as the model was trained to see it.

    Args:
        prompt: what was to be said.
        speech: the token ids that said it, without a stop id.
    """
    return (*prompt.ids, *speech, END_OF_SPEECH_ID, END_OF_AI_ID)


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
    text_ids = [id_ for id_ in encode(f"{voice}: {text}") if 0 <= id_ < BEGIN_OF_TEXT_ID]
    ids = (
        START_OF_HUMAN_ID,
        BEGIN_OF_TEXT_ID,
        *text_ids,
        END_OF_TURN_ID,
        END_OF_HUMAN_ID,
        START_OF_AI_ID,
        START_OF_SPEECH_ID,
    )
    if len(ids) > MAX_PROMPT_TOKENS:
        raise ValueError(f"a prompt of {len(ids)} tokens; {MAX_PROMPT_TOKENS} are allowed")
    return Prompt(ids, min(token_budget(text), MAX_TOKENS - len(ids)), shortest_s(text))
