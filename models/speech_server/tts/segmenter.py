"""Cuts streamed text into segments worth speaking: early clauses at first, then whole sentences.

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

EARLY_CLAUSE_WORDS = 2
"""Words that an early clause needs before a comma, so that "Well," is not spoken alone."""

AGREEMENTS = frozenset({
    "yes", "yeah", "sure", "okay", "ok", "right", "alright", "good", "great", "perfect",
    "wonderful", "certainly", "absolutely", "exactly", "thanks",
})  # fmt: skip
"""Words of English that are a first clause by themselves: an answer that people pause after."""

EARLY_WORDS = 3
"""Words after which whole sentences are handed out: behind "Of course," comes another clause, of as
many words, so that its sound does not end before the next is there."""

MAX_SEGMENT_CHARS = 300
"""Longest segment, characters: about 20 s of speech. Bounds one engine call."""

DIGIT_CHARS = 5
"""What a digit counts for, characters: each may be a word of its own."""

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
_CLAUSE_MARKS = "".join(CLAUSE_END)
_OPEN_TAG = re.compile(r"<(?:[|/!?<A-Za-z_][^<>\n]*)?$")
_TAG = re.compile(r"<[^<>\n]*>")
_LEADING_TAGS = re.compile(r"\s*(?:<[^<>\n]*>\s*)*")


class Segmenter:
    """Holds the text of one reply that is not yet handed out."""

    def __init__(self) -> None:
        self._text = ""
        self._scanned = 0
        """Everything before this index of `_text` has been searched for a cut."""
        self._digits = 0
        """How many digits are before it."""
        self._words_out = 0

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
        cut = self._before_tag(cut)
        if cut <= 0 or not any(char.isalnum() for char in self._text[:cut]):
            return []
        return [self._take(cut)]

    def flush(self) -> list[str]:
        """Hand out everything."""
        return [self._take(len(self._text))] if self._text else []

    def _take(self, cut: int) -> str:
        segment, self._text = self._text[:cut], self._text[cut:]
        self._scanned = self._digits = 0
        self._words_out += _words_in(segment)
        return segment

    def _next_cut(self) -> int | None:
        text = self._text
        index = self._scanned
        while index < len(text):
            char = text[index]
            if index + self._digits * (DIGIT_CHARS - 1) >= MAX_SEGMENT_CHARS:
                return self._forced_cut(index)
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
            self._digits += char.isdecimal()
            index += 1
        self._scanned = index
        return None

    def _ends_segment(self, blank: int) -> bool | None:
        """Whether a segment ends before the blank at this index; None: not to be known yet."""
        token = self._text[:blank].rsplit(maxsplit=1)[-1]
        if self._before_tag(blank) < blank or not any(
            char.isalnum() for char in self._text[:blank]
        ):
            return False
        bare = token.rstrip(CLOSING)
        if bare.endswith(SENTENCE_END):
            return self._ends_sentence(bare, blank)
        if self._text[blank] == "\n":
            return True
        is_clause = bare.endswith(CLAUSE_END) or bare in {"-", "--"}
        if not is_clause or self._words_out >= EARLY_WORDS:
            return False
        if not self._may_stand_alone(_words_in(self._text[:blank]), bare.rstrip(_CLAUSE_MARKS)):
            return False
        if bare[-2:-1].isdigit():  # "November 24, 2026" is one thing
            begins = self._next_begins(blank)
            return not begins.isdigit() if begins else None
        return True

    def _may_stand_alone(self, words: int, last: str) -> bool:
        """Whether an early clause is spoken by itself: its words, and the last of them."""
        if self._words_out:
            return words >= EARLY_WORDS
        return words >= EARLY_CLAUSE_WORDS or last.lower() in AGREEMENTS

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
        begins = self._next_begins(blank)
        if not begins:
            return None
        if word in _BEFORE_NUMBER:
            return not begins.isdigit()
        is_initial = len(word) == 1 and word.isalpha() and word != "i" and not token.endswith("..")
        if is_initial:
            return False
        if word.isdigit() and _words_in(self._text[:blank]) == 1:
            return False  # the number of a list item
        return not begins.islower()

    def _next_begins(self, blank: int) -> str:
        """The first character of the word behind a blank, or nothing while it is not known."""
        rest = _LEADING_TAGS.sub("", self._text[blank:], count=1).lstrip(OPENING + "#-")
        if len(rest) < _CONTROL_WINDOW and _OPEN_TAG.fullmatch(rest):
            return ""
        return rest.lstrip(OPENING + "#<-")[:1]

    def _before_tag(self, cut: int) -> int:
        """The place itself, or that of the opened angle bracket which would be cut there."""
        start = max(0, cut - _CONTROL_WINDOW)
        opened = _OPEN_TAG.search(self._text[start:cut])
        return start + opened.start() if opened else cut

    def _forced_cut(self, limit: int) -> int:
        """The best place before a limit to cut a segment that has grown too long."""
        window = self._text[:limit]
        blanks = [
            index
            for index, char in enumerate(window)
            if char.isspace() and self._before_tag(index + 1) == index + 1
        ]
        late = [index for index in blanks if index > limit // 2]
        clauses = [index for index in late if window[index - 1] in CLAUSE_END]
        for places in (clauses, late, blanks):
            if places:
                return places[-1] + 1
        return self._before_tag(limit) or limit


def _words_in(text: str) -> int:
    """How many words are said: neither marks nor control tokens."""
    return sum(any(map(str.isalnum, word)) for word in _TAG.sub(" ", text).split())
