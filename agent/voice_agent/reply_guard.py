"""Stands between a model and the voice: what cannot be said is dropped, what never ends is cut."""

import logging
import re
import unicodedata
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator

from livekit.agents import llm

logger = logging.getLogger(__name__)

MAX_REPLY_CHARACTERS = 1000
"""Longest reply that is said: a minute of speech. Nobody listens to more without a word."""

SENTENCE_GRACE_CHARACTERS = 200
"""How much further a reply may go to the end of its sentence."""

_SPECIAL_TOKEN = re.compile(r"<\|[^<>|]{0,40}\|>|</?s>|\[/?INST\]")
_SPECIAL_TOKEN_BEGUN = re.compile(r"<(?:\|[^<>|]{0,40}\|?|/?s?)$|\[(?:/?I?N?S?T?)$")
_JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Formatting characters that several scripts spell words with."""
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)")


class _Words:
    """What is said of one reply."""

    def __init__(self) -> None:
        self.said = 0
        self.full = False
        self._begun = ""
        """What may yet turn out to be a special token, or has no word in it so far."""
        self._has_words = False

    def take(self, piece: str) -> str:
        """The part of a piece, and of what was held back before it, that is to be said now."""
        text = _SPECIAL_TOKEN.sub("", self._begun + _printable(piece))
        held = _SPECIAL_TOKEN_BEGUN.search(text)
        self._begun = text[held.start() :] if held else ""
        text = text[: held.start()] if held else text
        if not self._has_words and not any(map(str.isalnum, text)):
            # punctuation before the first word, which may never come
            self._begun = (text + self._begun)[-MAX_REPLY_CHARACTERS:]
            return ""
        self._has_words = True
        return self._bounded(text)

    def rest(self) -> str:
        """What was held back and proved to be words after all."""
        return self._bounded(self._begun) if self._has_words else ""

    def _bounded(self, text: str) -> str:
        left = MAX_REPLY_CHARACTERS - self.said
        if len(text) > left:
            end = _SENTENCE_END.search(text, max(left, 0))
            limit = left + SENTENCE_GRACE_CHARACTERS
            if end is not None and end.end() <= limit:
                text, self.full = text[: end.end()], True
            elif len(text) >= limit:
                text, self.full = text[: max(limit, 0)], True
        self.said += len(text)
        return text


async def guard_reply(
    chunks: AsyncIterable[llm.ChatChunk | str],
) -> AsyncIterator[llm.ChatChunk | str]:
    """Pass a model's reply on: its words bounded and printable, all else as it is.

    Control characters and special tokens of chat templates are dropped. A reply without a letter or
    digit comes out empty. At the bound the model's stream is left, which cancels it.
    """
    words = _Words()
    try:
        async for chunk in chunks:
            if isinstance(chunk, str):
                if text := words.take(chunk):
                    yield text
            elif chunk.delta is not None and chunk.delta.content:
                delta = chunk.delta.model_copy(update={"content": words.take(chunk.delta.content)})
                yield chunk.model_copy(update={"delta": delta})
            else:
                yield chunk
            if words.full:
                logger.warning("reply cut, it has no end", extra={"characters": words.said})
                return
    finally:
        if isinstance(chunks, AsyncGenerator):
            await chunks.aclose()
    if text := words.rest():
        yield text


def _printable(text: str) -> str:
    """Without control, formatting, private and unassigned characters."""
    return "".join(filter(_is_printable, text))


def _is_printable(character: str) -> bool:
    if character in _JOINERS or character.isspace():
        return True
    return unicodedata.category(character)[0] != "C" and character != "\N{REPLACEMENT CHARACTER}"
