"""Word times for a voice that tells none: an estimate from how long it speaks and where it pauses.

A word lasts as its letters and the voice's pace make it; a pause in the sound is taken for the next
punctuation mark. How long a segment will be is not known before it ends, so what was told stays,
and what follows is corrected: at each pause, and by what is left at the end.

How far off it is, against flite's own alignment: a word's start by 0.06 s on average and 0.21 s at
p95 on the eight sentences of the tiny voice, and by 0.12 s and 0.33 s on 48 other sentences in
flite's four voices, with the pace learnt as they come. How far with a published voice has not been
measured.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from speech_server.tts.characters import CLAUSE_END, CLOSING, SENTENCE_END
from speech_server.tts.engine import Pcm16, WordTime
from speech_server.tts.speech_edges import LOWEST_LEVEL

_LETTER_S: Final = 0.06
"""How long a letter lasts in a voice of which nothing is known, seconds. Least squares over the
words of 56 sentences in flite's four voices give 0.053 to 0.064, and `_LAST_LETTERS` more for the
word before a pause; with syllables in place of letters the error is a third larger."""
_LAST_LETTERS: Final = 2.0
_DIGIT_LETTERS: Final = 4.0
"""A digit is said as a word: "nine"."""
_SOUND_LETTERS: Final = 15.0
"""A laugh or a sigh: about a second."""
_FASTEST_S: Final = 0.02
_SLOWEST_S: Final = 0.2
"""Beyond these the voice has said something else than its text."""
_PRIOR_LETTERS: Final = 20.0
"""Letters that `_LETTER_S` weighs as much as: one short sentence."""
_PACE_LETTERS: Final = 400.0
"""Letters that a voice's pace is the mean of: about ten sentences."""

_PAUSE_S: Final = 0.08
"""Shortest quiet that may be a pause, seconds; the closure of a "t" is shorter."""
_EARLY_S: Final = 0.35
"""A pause this much before a mark is expected is still the mark's, seconds."""
_OVERDUE_S: Final = 0.35
"""A mark that no pause tells is passed this much later than expected, seconds."""
_STEP_S: Final = 0.01


@dataclass(slots=True)
class Pace:
    """How fast a voice speaks: speech of known length, pauses left out."""

    letters: float = _PRIOR_LETTERS
    seconds: float = _PRIOR_LETTERS * _LETTER_S

    @property
    def letter_s(self) -> float:
        """How long a letter lasts, seconds."""
        return self.seconds / self.letters

    def learn(self, letters: float, seconds: float) -> None:
        """Take more speech: what is long ago counts for less, what is no speech for nothing."""
        if not _FASTEST_S * letters < seconds < _SLOWEST_S * letters:
            return
        kept = min(1.0, _PACE_LETTERS / (self.letters + letters))
        self.letters = (self.letters + letters) * kept
        self.seconds = (self.seconds + seconds) * kept


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    letters: float
    """Its length, in letters."""
    marked: bool
    """Whether a pause is expected behind it."""


class WordEstimate:
    """Times the words of one segment while it is spoken.

    Args:
        text: the segment's text.
        sample_rate_hz: rate of the audio.
        letter_s: how long a letter lasts, seconds; see `Pace`.
        sound_level: RMS from which 10 ms are sound; see `SilenceLevel`.
    """

    def __init__(
        self, text: str, sample_rate_hz: int, letter_s: float, sound_level: float = LOWEST_LEVEL
    ) -> None:
        self._words = deque(_words(text))
        self._step = round(_STEP_S * sample_rate_hz)
        self._letter_s = letter_s
        self._sound_level = sound_level
        self._rest: Pcm16 = np.zeros(0, dtype=np.int16)
        self._steps = 0
        """Steps of 10 ms taken."""
        self._sound_steps = 0
        """The same up to the end of the last one with sound."""
        self._start_s = 0.0
        """Where the next word begins."""
        self._pauses_s = 0.0
        """Pauses since then."""
        self.letters = 0.0
        """Letters of the words told so far; once finished, of the segment."""
        self.seconds = 0.0
        """Their length, pauses left out."""

    def push(self, pcm: Pcm16) -> list[WordTime]:
        """Take the next piece.

        Args:
            pcm: int16, (samples,), from the first sound of the segment on.

        Returns:
            The words that have ended, in order; none beyond the audio taken.
        """
        pcm = np.concatenate((self._rest, pcm))
        whole = len(pcm) // self._step * self._step
        self._rest = pcm[whole:]
        steps = pcm[:whole].reshape(-1, self._step)
        loud = np.sqrt(np.mean(np.square(steps, dtype=np.float64), axis=1)) >= self._sound_level
        ended: list[WordTime] = []
        for sound in loud:
            if sound:
                ended += self._end_quiet()
            self._steps += 1
            if sound:
                self._sound_steps = self._steps
                ended += self._due()
        return ended

    def finish(self) -> list[WordTime]:
        """The words that are left, over the sound that is left; none where nothing was heard."""
        if not self._sound_steps:
            return []
        return list(self._spread(len(self._words), self._sound_steps * _STEP_S))

    def _end_quiet(self) -> Iterator[WordTime]:
        """Sound comes: the quiet before it, if long, was the pause of a mark, or a hesitation."""
        began_s, now_s = self._sound_steps * _STEP_S, self._steps * _STEP_S
        if now_s - began_s < _PAUSE_S:
            return
        words = list(self._words)[:-1]  # behind the last word is no sound
        marks = [index for index, word in enumerate(words, 1) if word.marked]
        letters = sum(word.letters for word in words[: marks[0]]) if marks else 0.0
        expected_s = self._start_s + self._pauses_s + letters * self._letter_s
        if marks and expected_s - began_s <= _EARLY_S:
            yield from self._spread(marks[0], began_s)
            self._start_s = now_s
        else:
            self._pauses_s += now_s - began_s
            self.seconds -= now_s - began_s

    def _due(self) -> Iterator[WordTime]:
        """The words that have ended as far as can be told. The last one waits for the end."""
        while len(self._words) > 1:
            word = self._words[0]
            end_s = self._start_s + self._pauses_s + word.letters * self._letter_s
            if end_s + _OVERDUE_S * word.marked > self._steps * _STEP_S:
                return
            yield self._take(end_s)

    def _spread(self, count: int, end_s: float) -> Iterator[WordTime]:
        """Lay the next words over the time up to `end_s`, each as long as its letters."""
        start_s, end_s = self._start_s, max(self._start_s, end_s)
        letters = sum(word.letters for word in list(self._words)[:count])
        said = 0.0
        for _ in range(count):
            said += self._words[0].letters
            yield self._take(start_s + (end_s - start_s) * said / letters)

    def _take(self, end_s: float) -> WordTime:
        word, start_s = self._words.popleft(), self._start_s
        self.letters += word.letters
        self.seconds += end_s - start_s
        self._start_s, self._pauses_s = end_s, 0.0
        return WordTime(word.text, start_s, end_s)


def _words(text: str) -> Iterator[_Word]:
    words = text.split()
    for word, following in zip(words, [*words[1:], ""], strict=False):
        letters = _letters(word)
        if not letters:
            continue
        marked = word.rstrip(CLOSING).endswith((*SENTENCE_END, *CLAUSE_END))
        # A dash that stands alone is the mark of the word before it.
        marked = marked or not following or not _letters(following)
        yield _Word(word, letters + _LAST_LETTERS * marked, marked)


def _letters(word: str) -> float:
    """Length of a word, in letters; 0 where nothing of it is heard."""
    if word.startswith("<"):
        return _SOUND_LETTERS
    digits = sum(char.isdigit() for char in word)
    return _DIGIT_LETTERS * digits + sum(char.isalnum() for char in word) - digits
