"""The text of one reply: what is still to be sent, and how much of it the caller was given.

The second half matters when a connection breaks in the middle. What was spoken is known from two
sources, the better one first:

1. word times, where the engine knows them: the reply goes on at the first word whose audio had not
   arrived in full;
2. else the marks that answer our flushes, one per sentence: sentences answered for are done, a
   sentence of which audio had arrived is given up, and the reply goes on with the next one.

So a caller may lose the rest of a sentence, but never hears one twice.
"""

import re
from collections import deque
from dataclasses import dataclass

MAX_CONTEXT_CHARS = 3000
"""Text of one context, characters; a longer reply goes on in another one. The server takes 4096
unless told otherwise (`PARLEY_TTS_MAX_CHARS`)."""

_SENTENCE_GAP = re.compile(
    r"""(?<=[.!?\u2026])["')\]\u2019\u201d]*\s+(?=["'(\[\u2018\u201c]*([^\W\d_]))"""
)
"""The white space between two sentences, there only once the next one has begun. A number begins
none ("No. 5")."""
_LAST_WORD = re.compile(r"(\w+)\.\W*\Z")
_ABBREVIATIONS = frozenset({"approx", "dept", "dr", "etc", "inc", "mr", "mrs", "ms", "prof", "st"})
"""Words whose full stop ends no sentence; single letters (p.m., initials) do not either."""
_GAP_CHARS = 64
"""Longest gap looked for across two pieces of text, characters."""
_WORD_WINDOW_CHARS = 64
"""How far ahead in the text a spoken word is looked for, characters."""

_WORD_END_TOLERANCE_S = 0.005
"""A word that lacks less than this was heard, seconds."""


@dataclass(frozen=True, slots=True)
class Piece:
    """What to send next."""

    text: str
    """Empty when only a mark is to be sent."""
    flush: bool = False
    """A sentence ends here: speak what was sent so far."""
    last: bool = False
    """No more text follows in this context."""


class ReplyText:
    """Text comes in token by token, goes out in pieces and is ticked off as it is spoken.

    Positions are characters from the start of the reply.
    """

    def __init__(self) -> None:
        self._text = ""
        self._ended = False
        self._scanned = 0
        self._boundaries: list[int] = []
        self._spoken = 0
        self._skipping = False
        self._lost = 0
        self._open_context(0)

    def _open_context(self, position: int) -> None:
        self._opened = self._sent = self._flushed = self._cursor = position
        self._last_sent = False
        self._unanswered: deque[int] = deque()
        self._received_s = 0.0
        self._words: deque[tuple[float, int]] = deque()
        self._begun = False

    # --- text in ---

    def add(self, token: str) -> None:
        """Take the next text, of any length."""
        self._text += token
        for gap in _SENTENCE_GAP.finditer(self._text, self._scanned):
            self._scanned = gap.end()
            before = self._text[max(0, gap.start() - _GAP_CHARS) : gap.start()]
            if not (gap[1].islower() or _ends_with_abbreviation(before)):
                self._boundaries.append(max(gap.end(), self._sent))
        self._scanned = max(self._scanned, len(self._text) - _GAP_CHARS)

    def flush(self) -> None:
        """What was added so far is to be spoken without waiting for more."""
        self._boundaries.append(len(self._text))
        self._scanned = len(self._text)

    def end(self) -> None:
        """No more text follows."""
        self._ended = True

    @property
    def ended(self) -> bool:
        """Whether all text is in."""
        return self._ended

    @property
    def is_speakable(self) -> bool:
        """Whether any letter or digit came in."""
        return any(character.isalnum() for character in self._text)

    # --- text out ---

    @property
    def has_words_to_send(self) -> bool:
        """Whether anything but white space waits to be sent."""
        return not self._waits_to_skip() and bool(self._text[self._sent :].strip())

    @property
    def finished(self) -> bool:
        """Whether all text is in and nothing is left to send."""
        return self._ended and not self.has_words_to_send

    @property
    def awaits_audio(self) -> bool:
        """Whether the server owes something: the answer to a flush, or the end of the context."""
        return self._last_sent or bool(self._unanswered)

    @property
    def context_ended(self) -> bool:
        """Whether the last piece of this context was sent."""
        return self._last_sent

    def next_piece(self) -> Piece | None:
        """Take what is to be sent next; None while there is nothing."""
        if self._last_sent or self._waits_to_skip():
            return None
        boundary = next((b for b in self._boundaries if b > self._flushed), None)
        end = len(self._text) if boundary is None else boundary
        limit = self._opened + MAX_CONTEXT_CHARS
        if end >= limit:
            end, last = self._last_gap_before(limit), True
        else:
            # A long reply changes context between two sentences where it can.
            last = end == boundary and end - self._opened >= MAX_CONTEXT_CHARS // 2
        last = last or (self._ended and end == len(self._text))
        flush = end == boundary and not last
        text = self._text[self._sent : end]
        if not (text or flush or last):
            return None
        self._sent = end
        self._last_sent = last
        if flush:
            self._flushed = end
            self._unanswered.append(end)
        return Piece(text, flush=flush, last=last)

    def _last_gap_before(self, limit: int) -> int:
        gap = self._text.rfind(" ", self._sent, limit)
        return max(self._sent, limit if gap < 0 else gap)

    # --- ticked off ---

    def audio_received(self, duration_s: float) -> None:
        """Audio of this context went to the caller.

        Args:
            duration_s: its length, seconds.
        """
        self._begun = True
        self._received_s += duration_s
        self._tick_words()

    def _tick_words(self) -> None:
        while self._words and self._words[0][0] <= self._received_s + _WORD_END_TOLERANCE_S:
            self._spoken = max(self._spoken, self._words.popleft()[1])

    def word_timed(self, word: str, end_s: float) -> str:
        """A word's time became known, before or after its audio.

        Args:
            word: as the server spells it.
            end_s: its end, seconds from the start of the context's audio.

        Returns:
            The reply's own text up to the end of that word; empty when the word is not in it (a
            number spelled out), whose text then comes with the next word.
        """
        core = re.sub(r"^\W+|\W+$", "", word)
        window = self._text[self._cursor : min(self._cursor + _WORD_WINDOW_CHARS, self._sent)]
        found = re.search(rf"(?<!\w){re.escape(core)}(?!\w)[^\w\s]*", window, re.IGNORECASE)
        if not core or found is None:
            return ""
        spelled = window[: found.end()]
        self._cursor += found.end()
        self._words.append((end_s, self._cursor))
        self._tick_words()
        return spelled

    def flush_answered(self) -> None:
        """All audio of the oldest unanswered flush was received."""
        if self._unanswered:
            self._spoken = max(self._spoken, self._unanswered.popleft())
            self._begun = False

    def close_context(self) -> str:
        """The context is over and all of it was received.

        Returns:
            The text after the last timed word; empty where no word was timed.
        """
        rest = self._text[self._cursor : self._sent] if self._cursor > self._opened else ""
        self._spoken = self._sent
        self._open_context(self._sent)
        return rest

    def resume(self, *, words_are_timed: bool) -> int:
        """The connection broke: go on in another context after what was spoken.

        Args:
            words_are_timed: whether the server tells word times at all; a word without one is
                then a word whose audio is not complete.

        Returns:
            How many characters are known to be lost so far: the rest of a sentence of which
            audio had arrived while no word times were known.
        """
        self._skipping = self._begun and not words_are_timed
        self._open_context(self._spoken)
        self._waits_to_skip()
        return self._lost

    def _waits_to_skip(self) -> bool:
        """Skip to the next sentence where that is due; True while its start is not in yet."""
        if not self._skipping:
            return False
        end = next((b for b in self._boundaries if b > self._spoken), None)
        if end is None and self._ended:
            end = len(self._text)
        if end is None:
            return True
        self._lost += end - self._spoken
        self._spoken = end
        self._skipping = False
        self._open_context(end)
        return False


def _ends_with_abbreviation(text: str) -> bool:
    word = _LAST_WORD.search(text)
    return word is not None and (len(word[1]) == 1 or word[1].lower() in _ABBREVIATIONS)
