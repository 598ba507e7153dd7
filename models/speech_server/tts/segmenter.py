"""Cuts streamed text into segments worth speaking: an early first clause, then whole sentences.

Cuts fall between words and depend on the text alone, not on how it was split into deltas. No
character is lost, doubled or moved: the segments joined are the text.
"""

import re

from speech_server.tts.characters import (
    CLAUSE_END,
    CLOSING,
    OPENING,
    SENTENCE_END,
    UNSPACED_SENTENCE_END,
)

FIRST_CLAUSE_WORDS = 3
"""Words that a first clause needs before a comma, so that "Well," is not spoken alone."""

MAX_SEGMENT_CHARS = 300
"""Longest segment, characters: about 20 s of speech. Bounds one engine call."""

_CONTROL_WINDOW = 160
"""An opened angle bracket keeps its tail together this far, characters."""

# An abbreviation before a name: never the end of a sentence.
_TITLES = frozenset({
    "dr", "mr", "mrs", "ms", "prof", "rev", "gen", "sen", "rep", "gov", "capt", "lt", "sgt", "col",
    "hon", "st", "mt", "ft", "vs", "cf", "approx", "dept", "est", "e.g", "i.e", "u.s", "u.k",
    "u.s.a",
})  # fmt: skip
# Ends a sentence unless a number follows ("No. 5", "Jan. 3").
_BEFORE_NUMBER = frozenset({
    "no", "nos", "nr", "fig", "vol", "pp", "p", "ext", "sec", "ch", "art", "jan", "feb", "mar",
    "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov", "dec",
})  # fmt: skip
# Ends a sentence only when the next word begins one.
_UNSURE = frozenset({
    "a.m", "p.m", "am", "pm", "etc", "inc", "ltd", "co", "corp", "jr", "sr", "ph.d", "m.d", "b.a",
})  # fmt: skip
_OPEN_TAG = re.compile(r"<[|/!?<A-Za-z_][^<>\n]*$")


class Segmenter:
    """Holds the text of one reply that is not yet handed out."""

    def __init__(self) -> None:
        self._text = ""
        self._scanned = 0
        """Everything before this index of `_text` has been searched for a cut."""
        self._first = True

    @property
    def waiting(self) -> bool:
        """Whether text is held that something could be said of."""
        return any(char.isalnum() for char in self._text)

    def push(self, text: str) -> list[str]:
        """Add text.

        Args:
            text: the next piece, of any length.

        Returns:
            The segments that are now complete.
        """
        self._text += text
        segments: list[str] = []
        while (cut := self._next_cut()) is not None:
            segments.append(self._take(cut))
        return segments

    def hurry(self, *, whole_words: bool) -> list[str]:
        """Hand out what has waited too long.

        Args:
            whole_words: keep back what follows the last blank: its end may still be coming.
        """
        cut = len(self._text)
        if whole_words:
            cut = max(self._text.rfind(blank) for blank in " \n\t") + 1
        if self._in_tag(cut):
            cut = self._text.rfind("<", 0, cut)
        if cut <= 0 or not any(char.isalnum() for char in self._text[:cut]):
            return []
        return [self._take(cut)]

    def flush(self) -> list[str]:
        """Hand out everything."""
        return [self._take(len(self._text))] if self._text else []

    def _take(self, cut: int) -> str:
        segment, self._text = self._text[:cut], self._text[cut:]
        self._scanned = 0
        if any(char.isalnum() for char in segment):
            self._first = False
        return segment

    def _next_cut(self) -> int | None:
        text = self._text
        index = self._scanned
        while index < len(text):
            if index >= MAX_SEGMENT_CHARS:
                return self._forced_cut()
            char = text[index]
            if char in UNSPACED_SENTENCE_END and index + 1 < len(text):
                if text[index + 1] not in (*UNSPACED_SENTENCE_END, *CLOSING):
                    return index + 1
            elif char.isspace() and index and not text[index - 1].isspace():
                decision = self._ends_segment(index)
                if decision is None:
                    break
                if decision:
                    return index + 1
            elif char in UNSPACED_SENTENCE_END:
                break
            index += 1
        self._scanned = index
        return None

    def _ends_segment(self, blank: int) -> bool | None:
        """Whether a segment ends before the blank at this index; None: not to be known yet."""
        token = self._text[:blank].rsplit(maxsplit=1)[-1]
        if self._in_tag(blank) or not any(char.isalnum() for char in self._text[:blank]):
            return False
        bare = token.rstrip(CLOSING)
        if bare.endswith(SENTENCE_END):
            return self._ends_sentence(bare, blank)
        if self._text[blank] == "\n":
            return True
        is_clause = bare.endswith(CLAUSE_END) or bare in {"-", "--"}
        return self._first and is_clause and self._words_before(blank) >= FIRST_CLAUSE_WORDS

    def _ends_sentence(self, token: str, blank: int) -> bool | None:
        if not token.endswith((".", "…")):
            return True
        word = token.lstrip(OPENING).rstrip(".…").lower()
        # An ordinary word and one full stop: no need to see what follows.
        if word.isalpha() and len(word) > 1 and token.endswith(word[-1] + "."):
            if word in _TITLES:
                return False
            if word not in _BEFORE_NUMBER and word not in _UNSURE:
                return True
        if word in _TITLES:
            return False
        begins = self._text[blank:].lstrip().lstrip(OPENING + "#<-")[:1]
        if not begins:
            return None
        if word in _BEFORE_NUMBER:
            return not begins.isdigit()
        is_initial = len(word) == 1 and word.isalpha() and word != "i" and not token.endswith("..")
        if is_initial:
            return False
        if word.isdigit() and self._words_before(blank) == 1:
            return False  # the number of a list item
        return not begins.islower()

    def _words_before(self, end: int) -> int:
        return len(self._text[:end].split())

    def _in_tag(self, end: int) -> bool:
        return _OPEN_TAG.search(self._text[max(0, end - _CONTROL_WINDOW) : end]) is not None

    def _forced_cut(self) -> int:
        """The best place to cut a segment that has grown too long."""
        window = self._text[:MAX_SEGMENT_CHARS]
        blanks = [index for index, char in enumerate(window) if char.isspace()]
        late = [index for index in blanks if index > MAX_SEGMENT_CHARS // 2]
        clauses = [index for index in late if window[index - 1] in CLAUSE_END]
        for places in (clauses, late, blanks):
            if places:
                return places[-1] + 1
        return MAX_SEGMENT_CHARS
