"""Audio windows of different callers in, readings out: one call of the model for a whole batch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from speech_server.stt.engine import Word
from speech_server.stt.whisper_features import FRAMES_PER_S, Features
from speech_server.stt.whisper_model import (
    MAX_NEW_TOKENS,
    MAX_PROMPT_TOKENS,
    Alignment,
    Generated,
    WhisperModel,
)

_TOKENS_PER_S: Final = 25
"""More than any language needs; bounds what one looping window costs the others of its batch."""
_FREE_TOKENS: Final = 10
_ENCODER_FRAMES_PER_S: Final = FRAMES_PER_S // 2


@dataclass(frozen=True, slots=True)
class Window:
    """One stretch of audio, ready for the model."""

    features: Features
    speech_s: float
    """Length of the audio without padding, seconds."""
    language: str | None
    """Whisper's code; None: to be detected."""
    prompt: tuple[int, ...] = ()
    """Tokens of the words that are likely to occur."""

    @property
    def shape(self) -> tuple[int, int]:
        """Windows of equal shape can share a batch: frames and tokens of the prompt."""
        return self.features.shape[1], len(self.prompt)


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model read in one window."""

    text: str
    language: str
    log_probability: float
    """Mean over the tokens."""
    no_speech: float
    """Probability that nobody speaks."""
    words: tuple[Word, ...] | None
    """With times in the window; None where none were asked for."""

    @property
    def confidence(self) -> float:
        """Geometric mean of the tokens' probabilities, in [0, 1]."""
        return min(1.0, math.exp(self.log_probability))


class WhisperDecoder:
    """Decodes batches.

    Args:
        model: what to run.
        beam_size: 1 takes the best token every time.
        word_times: whether to look for the words' times as well, which costs one more pass.
    """

    def __init__(self, model: WhisperModel, beam_size: int, word_times: bool) -> None:
        self._model = model
        self._beam_size = beam_size
        self._word_times = word_times

    def prompt(self, text: str | None) -> tuple[int, ...]:
        """The tokens of likely words; what exceeds Whisper's limit is left out."""
        # Half a surrogate pair is no text to the tokenizer.
        clean = (text or "").encode(errors="ignore").decode().strip()
        if not clean:
            return ()
        tokenizer = self._model.tokenizer("en")
        tokens = tokenizer.encode(f" {clean}")
        # A caller's words must not be able to spell the model's control tokens.
        return tuple(token for token in tokens if token < tokenizer.eot)[: MAX_PROMPT_TOKENS - 1]

    def read(self, windows: Sequence[Window]) -> list[Reading]:
        """Read windows of one `shape`.

        Raises:
            RuntimeError: the model failed; which window broke it is not known.
        """
        encoded = self._model.encode([window.features for window in windows])
        languages = self._languages(encoded, windows)
        frames, _ = windows[0].shape
        limit = min(MAX_NEW_TOKENS, _FREE_TOKENS + _TOKENS_PER_S * frames // FRAMES_PER_S)
        prompts = [
            self._start(window.prompt, language)
            for window, language in zip(windows, languages, strict=True)
        ]
        generated = self._model.generate(encoded, prompts, limit, self._beam_size)
        words = self._words(encoded, windows, languages, generated)
        return [
            Reading(
                text=self._model.tokenizer(language).decode(result.tokens).strip(),
                language=language,
                log_probability=result.log_probability,
                no_speech=result.no_speech,
                words=timed,
            )
            for result, language, timed in zip(generated, languages, words, strict=True)
        ]

    def _languages(self, encoded: Any, windows: Sequence[Window]) -> list[str]:
        if not self._model.multilingual:
            return ["en"] * len(windows)
        asked = [window.language for window in windows]
        if None not in asked:
            return [language for language in asked if language is not None]
        heard = self._model.detect_languages(encoded)
        return [given or found for given, found in zip(asked, heard, strict=True)]

    def _start(self, prompt: tuple[int, ...], language: str) -> list[int]:
        tokenizer = self._model.tokenizer(language)
        before = [tokenizer.sot_prev, *prompt] if prompt else []
        return [*before, *tokenizer.sot_sequence, tokenizer.no_timestamps]

    def _words(
        self,
        encoded: Any,
        windows: Sequence[Window],
        languages: list[str],
        generated: list[Generated],
    ) -> list[tuple[Word, ...] | None]:
        if not self._word_times:
            return [None] * len(windows)
        frames = [max(2, round(window.speech_s * FRAMES_PER_S)) for window in windows]
        texts = [self._text_tokens(result) for result in generated]
        found: list[tuple[Word, ...] | None] = [() for _ in windows]
        # One call for each language spoken: the model takes one start for all.
        for language in set(languages):
            alignments = self._model.align(encoded, language, texts, frames)
            for row, alignment in enumerate(alignments):
                if languages[row] == language and texts[row]:
                    found[row] = self._timed(language, texts[row], alignment)
        return found

    def _text_tokens(self, result: Generated) -> list[int]:
        end = self._model.tokenizer("en").eot
        return [token for token in result.tokens if token < end]

    def _timed(self, language: str, tokens: list[int], alignment: Alignment) -> tuple[Word, ...]:
        tokenizer = self._model.tokenizer(language)
        texts, groups = tokenizer.split_to_word_tokens([*tokens, tokenizer.eot])
        words: list[Word] = []
        first = 0
        for text, group in zip(texts[:-1], groups[:-1], strict=True):
            after = first + len(group)
            probabilities = alignment.probabilities[first:after]
            start, end = (
                float(alignment.frames[token]) / _ENCODER_FRAMES_PER_S for token in (first, after)
            )
            confidence = sum(probabilities) / len(probabilities)
            words.append(Word(text.strip(), start, end, min(1.0, confidence)))
            first = after
        return _with_punctuation(words)


def _with_punctuation(words: list[Word]) -> tuple[Word, ...]:
    """Punctuation marks joined to the words that they follow."""
    joined: list[Word] = []
    for word in words:
        if joined and not any(character.isalnum() for character in word.text):
            last = joined[-1]
            joined[-1] = Word(last.text + word.text, last.start_s, last.end_s, last.confidence)
        elif word.text:
            joined.append(word)
    return tuple(joined)
