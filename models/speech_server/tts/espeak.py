"""The espeak-ng engine: no installation, many languages, a robot's voice.

The library comes in the wheel `espeakng-loader` and is bound with ctypes. It keeps one global
state, so that calls go one at a time.

Source of names, structures and constants: espeak-ng 1.52, speak_lib.h.
"""

import ctypes
import functools
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from pathlib import Path

import espeakng_loader
import numpy as np

from speech_server.errors import EngineFailed
from speech_server.tts.engine import Pcm16, Segment, SpeechChunk, TtsEngineInfo, Voice, WordTime
from speech_server.tts.library_engine import LibraryEngine
from speech_server.tts.synthesis_thread import SpeechSink
from speech_server.tts.word_times import WordPlaces

SAMPLE_RATE_HZ = 22_050
"""The library's own rate."""

_VOICES = (
    Voice("en-us", "en-US", "male, American"),
    Voice("en-us+f3", "en-US", "female, American"),
    Voice("en", "en-GB", "male, British"),
    Voice("de", "de", "male, German"),
    Voice("es", "es", "male, Spanish"),
    Voice("fr", "fr", "male, French"),
    Voice("it", "it", "male, Italian"),
    Voice("nl", "nl", "male, Dutch"),
    Voice("pl", "pl", "male, Polish"),
    Voice("pt-br", "pt-BR", "male, Brazilian Portuguese"),
    Voice("ar", "ar", "male, Arabic"),
    Voice("hi", "hi", "male, Hindi"),
)

_OUTPUT_SYNCHRONOUS = 2
_INITIALIZE_DONT_EXIT = 0x8000
_CHARS_UTF8 = 1
_POS_CHARACTER = 1
_PARAMETER_RATE = 1
_EVENT_LIST_TERMINATED = 0
_EVENT_WORD = 1
_EVENT_END = 5
_WORDS_PER_MINUTE = 175
"""The library's default rate."""
_RATE_RANGE = (80, 450)
"""Words a minute that the library can speak: speeds of about 0.46 to 2.57; others are clamped."""


class _EventId(ctypes.Union):
    _fields_ = (("number", ctypes.c_int), ("name", ctypes.c_char_p), ("string", ctypes.c_char * 8))


class _Event(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_int),
        ("unique_identifier", ctypes.c_uint),
        ("text_position", ctypes.c_int),
        ("length", ctypes.c_int),
        ("audio_position", ctypes.c_int),
        ("sample", ctypes.c_int),
        ("user_data", ctypes.c_void_p),
        ("id", _EventId),
    )


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.POINTER(_Event)
)
_Mark = tuple[int, float]
"""A character of the text, or -1 for the end of a clause, and its time in seconds."""


class _Espeak:
    """The loaded library.

    Raises:
        OSError: the library or its data cannot be loaded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lib = ctypes.CDLL(str(espeakng_loader.get_library_path()))
        self._lib.espeak_Synth.argtypes = (
            ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint,
            ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p,
        )  # fmt: skip
        self._lib.espeak_SetVoiceByName.argtypes = (ctypes.c_char_p,)
        data = str(Path(espeakng_loader.get_data_path())).encode()
        rate_hz = self._lib.espeak_Initialize(_OUTPUT_SYNCHRONOUS, 0, data, _INITIALIZE_DONT_EXIT)
        if rate_hz != SAMPLE_RATE_HZ:
            raise OSError(f"espeak-ng did not start with its data at {data.decode()}")
        self._callback = _Callback(self._on_audio)
        self._lib.espeak_SetSynthCallback(self._callback)
        self._pieces: list[Pcm16] = []
        self._marks: list[_Mark] = []
        self._cancelled: Callable[[], bool] = lambda: True

    def speak(
        self, text: str, voice: str, speed: float, cancelled: Callable[[], bool]
    ) -> tuple[Pcm16, list[_Mark]]:
        """Synthesise the whole text, about a thousandth of its length; blocking.

        Args:
            text: plain text. Markup is not interpreted: the flag for it is never set.
            voice: an id of `_VOICES`.
            speed: speaking rate, 1.0 is the voice's own.
            cancelled: asked between two pieces whether to stop.

        Returns:
            int16 (samples,) at 22050 Hz, and where words and clauses begin and end in it.

        Raises:
            EngineFailed: the library refused the voice or the text.
        """
        low, high = _RATE_RANGE
        rate = min(max(round(_WORDS_PER_MINUTE * speed), low), high)
        data = text.encode()
        with self._lock:
            self._pieces, self._marks, self._cancelled = [], [], cancelled
            if self._lib.espeak_SetVoiceByName(voice.encode()) != 0:
                raise EngineFailed(f"espeak: voice {voice} is not in this build")
            self._lib.espeak_SetParameter(_PARAMETER_RATE, rate, 0)
            status = self._lib.espeak_Synth(
                data, len(data) + 1, 0, _POS_CHARACTER, 0, _CHARS_UTF8, None, None
            )
            if status != 0:
                raise EngineFailed("espeak: could not speak this text")
            pieces, marks = self._pieces, self._marks
        pcm = np.concatenate(pieces) if pieces else np.zeros(0, dtype=np.int16)
        return pcm, marks

    def _on_audio(
        self,
        samples: "ctypes._Pointer[ctypes.c_short]",
        count: int,
        events: "ctypes._Pointer[_Event]",
    ) -> int:
        if self._cancelled():
            return 1
        if samples and count > 0:
            piece = np.ctypeslib.as_array(samples, (count,))
            self._pieces.append(piece.astype(np.int16, copy=True))
        index = 0
        while events[index].type != _EVENT_LIST_TERMINATED:
            event = events[index]
            if event.type == _EVENT_WORD:
                self._marks.append((event.text_position - 1, event.audio_position / 1000))
            elif event.type == _EVENT_END:
                self._marks.append((-1, event.audio_position / 1000))
            index += 1
        return 0


@functools.cache
def _load_espeak() -> _Espeak:
    """Load the library, once for the process: its state is global."""
    return _Espeak()


class EspeakEngine(LibraryEngine[_Espeak]):
    """Speaks with the C library espeak-ng."""

    def __init__(self) -> None:
        info = TtsEngineInfo("espeak", "espeak-ng", SAMPLE_RATE_HZ, _VOICES, word_times=True)
        super().__init__(info, _load_espeak, first_words="1")

    async def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment.

        Raises:
            EngineFailed: the engine is not loaded or broke.
        """
        espeak = self._library()

        def speak(sink: SpeechSink) -> None:
            pcm, marks = espeak.speak(
                segment.text, segment.voice, segment.speed, lambda: sink.cancelled
            )
            words = list(_word_times(segment.text, marks, len(pcm) / SAMPLE_RATE_HZ))
            step = SAMPLE_RATE_HZ // 25
            for start in range(0, len(pcm), step):
                if sink.cancelled:
                    return
                end_s = (start + step) / SAMPLE_RATE_HZ
                begun = tuple(word for word in words if word.start_s < end_s)
                words = words[len(begun) :]
                sink.write(pcm[start : start + step], begun)

        async with aclosing(self._thread.stream(speak)) as chunks:
            async for chunk in chunks:
                yield chunk


def _word_times(text: str, marks: list[_Mark], end_s: float) -> Iterator[WordTime]:
    """Join the library's word marks to the blank-delimited words of the text.

    The library marks parts of a word ("3", "30" of "3:30") and sometimes one twice: a word lasts
    from its first mark to the next mark of anything else.
    """
    places = WordPlaces(text)
    current: int | None = None
    start_s = 0.0
    for position, time_s in [*marks, (-1, end_s)]:
        index = places.at(position) if position >= 0 else None
        if position >= 0 and (index is None or (current is not None and index <= current)):
            continue
        if current is not None and time_s > start_s:
            yield WordTime(places.words[current], start_s, time_s)
        current, start_s = index, time_s
