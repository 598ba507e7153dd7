"""Text as it is spoken: without markup, and in words where the engine does not read signs itself.

Language models write for eyes: markdown, emoji, `15:00`, `$3.50`.
"""

from collections.abc import Set
from dataclasses import dataclass

from speech_server.tts.markup import SOUND_END, strip_markup
from speech_server.tts.number_forms import put_numbers_in_words
from speech_server.tts.spoken_forms import CURRENCY_NAMES, FORMS, INNER_BLANK, rewrite

_APART = str.maketrans({INNER_BLANK: " ", "_": " ", "<": None, ">": None})
"""What is done to words at last; an angle bracket is none of a sound."""


@dataclass(frozen=True, slots=True)
class SpokenText:
    """Text for an engine, and which written word each of its words stands for."""

    text: str
    """What the engine is to say: `words` and the sounds between them, divided by single blanks."""
    words: tuple[str, ...]
    """Its words, one whitespace-delimited word each; a sound is none."""
    written: tuple[str, ...]
    """The words as they were written, without markup and sounds."""
    origin: tuple[int, ...]
    """For each of `words`, the index of its written word."""

    @property
    def speakable(self) -> bool:
        """Whether there is anything but punctuation in it."""
        return any(char.isalnum() for char in self.text)


def normalise(
    text: str,
    *,
    sounds: Set[str] = frozenset(),
    reads_digits: bool = True,
    language: str = "en-US",
) -> SpokenText:
    """Prepare one segment for an engine.

    Only English is put into words; digits and signs of other languages stay as they are.

    Args:
        text: one segment as a language model wrote it.
        sounds: as `TtsEngineInfo.sounds`.
        reads_digits: as `TtsEngineInfo.reads_digits`.
        language: BCP 47 tag of the voice.

    Returns:
        What to say; `speakable` is False when nothing of it can be said.
    """
    tokens = strip_markup(text, sounds).split()
    primary, _, region = language.partition("-")
    said = " ".join(tokens)
    if primary.lower() == "en":
        said = rewrite(said, FORMS)
        said = rewrite(said, CURRENCY_NAMES) if reads_digits else put_numbers_in_words(said, region)
    everything: list[str] = []
    words: list[str] = []
    written: list[str] = []
    origin: list[int] = []
    for token, token_said in zip(tokens, said.split(" "), strict=False):
        if token.rstrip(SOUND_END) in sounds:
            everything.append(token)
            continue
        for word in token_said.translate(_APART).split():
            everything.append(word)
            words.append(word)
            origin.append(len(written))
        written.append(token)
    return SpokenText(" ".join(everything), tuple(words), tuple(written), tuple(origin))
