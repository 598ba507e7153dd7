"""From an engine's times to the times of the words as they were written."""

import re
from collections.abc import Iterator

from speech_server.tts.engine import WordTime
from speech_server.tts.normalise import SpokenText

_WORD = re.compile(r"\S+")


class WordPlaces:
    """Finds the blank-delimited word of a segment that an engine speaks at a character.

    Args:
        text: the segment's text.
    """

    def __init__(self, text: str) -> None:
        self._spans = [found.span() for found in _WORD.finditer(text)]
        self.words = tuple(text[start:end] for start, end in self._spans)
        """The words in order."""

    def at(self, position: int) -> int | None:
        """Index of the word that covers a character, or None between words."""
        for index, (start, end) in enumerate(self._spans):
            if start <= position < end:
                return index
        return None


class WrittenWordTimes:
    """Turns the times of spoken words into times of written words, as they come.

    "15:30" is spoken as two words and written as one: it lasts from the start of the first to
    the end of the second.

    Args:
        spoken: the segment as it was given to the engine.
    """

    def __init__(self, spoken: SpokenText) -> None:
        self._spoken = spoken
        self._next = 0
        self._open: tuple[int, float, float] | None = None
        """Index of the written word being spoken, its start and end in seconds."""

    def push(self, words: tuple[WordTime, ...], offset_s: float) -> Iterator[WordTime]:
        """Take the engine's next words.

        Args:
            words: in order, as they are in the segment's text; words may be left out.
            offset_s: added to every time, seconds.

        Yields:
            The written words that are complete.
        """
        for word in words:
            try:
                index = self._spoken.words.index(word.text, self._next)
            except ValueError:
                continue  # not a word of the segment: no time is better than a wrong one
            self._next = index + 1
            start_s = max(0.0, word.start_s + offset_s)
            end_s = max(start_s, word.end_s + offset_s)
            written = self._spoken.origin[index]
            if self._open is not None and self._open[0] == written:
                self._open = (written, self._open[1], end_s)
                continue
            yield from self.finish()
            self._open = (written, start_s, end_s)

    def finish(self) -> Iterator[WordTime]:
        """Yield the last word."""
        if self._open is not None:
            index, start_s, end_s = self._open
            self._open = None
            yield WordTime(self._spoken.written[index], start_s, end_s)
