"""The flite engine: English voices, about a hundredth of real time on one CPU core."""

import unicodedata
from collections.abc import AsyncGenerator
from contextlib import aclosing

from speech_server.tts.characters import LATIN_LETTERS
from speech_server.tts.engine import Pcm16, Segment, SpeechChunk, TtsEngineInfo, Voice, WordTime
from speech_server.tts.libflite import SAMPLE_RATE_HZ, Flite, Token, load_flite
from speech_server.tts.library_engine import LibraryEngine
from speech_server.tts.synthesis_thread import SpeechSink
from speech_server.tts.word_times import WordPlaces

_VOICES = (
    Voice("slt", "en-US", "female, American"),
    Voice("rms", "en-US", "male, American"),
    Voice("awb", "en-GB", "male, Scottish"),
    Voice("kal", "en-US", "male, American, older method"),
)


class FliteEngine(LibraryEngine[Flite]):
    """Speaks with the C library flite."""

    def __init__(self) -> None:
        info = TtsEngineInfo("flite", "flite", SAMPLE_RATE_HZ, _VOICES, word_times=True)
        super().__init__(info, load_flite, first_words="Ready.")

    @staticmethod
    def usable() -> bool:
        """Whether the library and its voices are installed."""
        try:
            load_flite()
        except OSError:
            return False
        return True

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment; nothing is yielded when it holds no Latin letter and no digit.

        Raises:
            EngineFailed: the engine is not loaded or broke.
        """
        flite = self._library()
        text = fold_to_ascii(segment.text)
        if not any(char.isalnum() for char in text):
            return

        def speak(sink: SpeechSink) -> None:
            if not sink.cancelled:
                _Synthesis(segment, text, sink).run(flite)

        async with aclosing(self._thread.stream(speak)) as chunks:
            async for chunk in chunks:
                yield chunk

    def _missing(self, error: OSError) -> str:
        return (
            f"flite is not installed ({error}); install Debian's package libflite1,"
            " or set PARLEY_TTS_ENGINE=espeak"
        )


class _Synthesis:
    """One segment on its way through the library."""

    def __init__(self, segment: Segment, text: str, sink: SpeechSink) -> None:
        self._segment = segment
        self._text = text
        self._sink = sink
        self._words: list[WordTime] = []

    def run(self, flite: Flite) -> None:
        segment = self._segment
        flite.speak(
            self._text.encode("ascii"),
            segment.voice,
            segment.speed,
            self._on_audio,
            self._on_tokens,
        )

    def _on_audio(self, pcm: Pcm16) -> bool:
        end_s = (self._sink.samples + len(pcm)) / SAMPLE_RATE_HZ
        begun = [word for word in self._words if word.start_s < end_s]
        self._words = self._words[len(begun) :]
        self._sink.write(pcm, tuple(begun))
        return not self._sink.cancelled

    def _on_tokens(self, tokens: tuple[Token, ...]) -> None:
        self._words = list(_word_times(self._segment.text, self._text, tokens))


def _word_times(text: str, folded: str, tokens: tuple[Token, ...]) -> list[WordTime]:
    """Join flite's tokens to the blank-delimited words of the segment.

    Folding keeps every blank, so that words correspond one to one; a token that is not found in
    the text gets no time.
    """
    places = WordPlaces(folded)
    original = text.split(" ")
    by_word: dict[int, tuple[float, float]] = {}
    cursor = 0
    for token in tokens:
        found = folded.find(token.name, cursor)
        if found < 0:
            continue
        cursor = found + len(token.name)
        index = places.at(found)
        if index is not None:
            start_s = by_word.get(index, (token.start_s, 0.0))[0]
            by_word[index] = (start_s, token.end_s)
    kept = [word for word in original if fold_to_ascii(word).strip()]
    if len(kept) != len(places.words):
        return []
    return [WordTime(kept[index], *times) for index, times in by_word.items()]


def fold_to_ascii(text: str) -> str:
    """The text with accents dropped and every other character that flite cannot read removed.

    Printable ASCII is also what keeps a C library written for it on the paths it was tested on.
    """
    decomposed = unicodedata.normalize("NFKD", text).translate(LATIN_LETTERS)
    kept = "".join(char if char.isprintable() else " " for char in decomposed)
    return kept.encode("ascii", "ignore").decode("ascii")
