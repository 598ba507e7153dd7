"""The C library flite (Debian's `libflite1`), bound with ctypes.

Used in place of the `flite` program because it streams, stops when told and knows word times.
The library keeps global state (voices and their features), so that calls go one at a time.

Source of names, structures and constants: flite 2.2, cst_audio.h, cst_voice.h, cst_wave.h, flite.h.
"""

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from speech_server.tts.engine import Pcm16

SAMPLE_RATE_HZ = 16_000
"""Rate of every voice in `VOICE_LIBRARIES`."""

VOICE_LIBRARIES = {"slt": "us_slt", "rms": "us_rms", "awb": "us_awb", "kal": "us_kal16"}
"""Voice id to the name within its library's file and registration function."""

_MIN_CALLBACK_SAMPLES = 640
"""Audio between two callbacks, samples (40 ms); the library rounds it up to its frame."""
_STREAM_STOP = -1
_STREAM_CONTINUE = 0
_TOKEN_START = b"R:SylStructure.daughter1.daughter1.R:Segment.p.end"
_TOKEN_END = b"R:SylStructure.daughtern.daughtern.R:Segment.end"


class _Wave(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("sample_rate", ctypes.c_int),
        ("num_samples", ctypes.c_int),
        ("num_channels", ctypes.c_int),
        ("samples", ctypes.POINTER(ctypes.c_short)),
    )


class _StreamingInfo(ctypes.Structure):
    pass


_Callback = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(_Wave),
    ctypes.c_int,
    ctypes.c_int,
    ctypes.c_int,
    ctypes.POINTER(_StreamingInfo),
)
_StreamingInfo._fields_ = (
    ("min_buffsize", ctypes.c_int),
    ("asc", _Callback),
    ("utt", ctypes.c_void_p),
    ("item", ctypes.c_void_p),
    ("userdata", ctypes.c_void_p),
)


class _Voice(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("features", ctypes.c_void_p))


@dataclass(frozen=True, slots=True)
class Token:
    """One token of the text and its time in the audio."""

    name: str
    """The token without the punctuation around it."""
    start_s: float
    end_s: float


OnAudio = Callable[[Pcm16], bool]
"""Takes the next piece, int16 (samples,); returns whether to go on."""
OnTokens = Callable[[tuple[Token, ...]], None]
"""Takes the tokens of the text, once, before the first audio."""


class Flite:
    """The loaded library with its voices; one for the process, see `load_flite`.

    Raises:
        OSError: the library or one of the voices is not installed.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lib = ctypes.CDLL("libflite.so.1", mode=ctypes.RTLD_GLOBAL)
        self._declare()
        self._lib.flite_init()
        # Kept for the life of the process: the library holds a pointer to it.
        self._callback = _Callback(self._on_audio)
        self._voices = {id_: self._register(name) for id_, name in VOICE_LIBRARIES.items()}
        self._job: tuple[OnAudio, OnTokens] | None = None
        self._error: Exception | None = None

    def speak(
        self, text: bytes, voice: str, speed: float, on_audio: OnAudio, on_tokens: OnTokens
    ) -> None:
        """Synthesise; blocking. Calls from several threads wait for each other.

        Args:
            text: printable ASCII, not blank.
            voice: a key of `VOICE_LIBRARIES`.
            speed: speaking rate, 1.0 is the voice's own.
            on_audio: called for every piece as it is made.
            on_tokens: called once, before the first piece.
        """
        handle = self._voices[voice]
        features = ctypes.cast(handle, ctypes.POINTER(_Voice))[0].features
        with self._lock:
            self._lib.flite_feat_set_float(features, b"duration_stretch", 1.0 / speed)
            self._job, self._error = (on_audio, on_tokens), None
            utterance = self._lib.flite_synth_text(text, handle)
            if utterance:
                self._lib.delete_utterance(utterance)
            self._job = None
            if self._error is not None:
                raise self._error

    def _on_audio(self, wave: "ctypes._Pointer[_Wave]", start: int, size: int, last: int,
                  info: "ctypes._Pointer[_StreamingInfo]") -> int:  # fmt: skip
        # An exception must not cross the C frames: it is kept and raised in `speak`.
        try:
            if self._job is None:
                return _STREAM_STOP
            on_audio, on_tokens = self._job
            if start == 0 and info[0].utt:
                on_tokens(tuple(self._tokens(info[0].utt)))
            if size <= 0:
                return _STREAM_CONTINUE
            samples = np.ctypeslib.as_array(wave[0].samples, (wave[0].num_samples,))
            wanted = on_audio(samples[start : start + size].astype(np.int16, copy=True))
            return _STREAM_CONTINUE if wanted else _STREAM_STOP
        except Exception as error:
            self._error = error
            return _STREAM_STOP

    def _tokens(self, utterance: int) -> Iterator[Token]:
        lib = self._lib
        if not lib.utt_relation_present(utterance, b"Token"):
            return
        item = lib.relation_head(lib.utt_relation(utterance, b"Token"))
        while item:
            first, last = lib.item_daughter(item), lib.item_last_daughter(item)
            # A token of punctuation alone is not spoken and has no words below it.
            first = first and lib.item_as(first, b"Word")
            last = last and lib.item_as(last, b"Word")
            if first and last:
                name = lib.flite_ffeature_string(item, b"name").decode("ascii", "replace")
                start_s = lib.flite_ffeature_float(first, _TOKEN_START)
                end_s = lib.flite_ffeature_float(last, _TOKEN_END)
                if end_s > start_s:
                    yield Token(name, start_s, end_s)
            item = lib.item_next(item)

    def _register(self, name: str) -> int:
        library = ctypes.CDLL(f"libflite_cmu_{name}.so.1")
        register = getattr(library, f"register_cmu_{name}")
        register.restype, register.argtypes = ctypes.c_void_p, (ctypes.c_char_p,)
        handle: int | None = register(None)
        if not handle:
            raise OSError(f"flite could not register its voice {name}")
        info = self._lib.new_audio_streaming_info()
        info[0].min_buffsize = _MIN_CALLBACK_SAMPLES
        info[0].asc = self._callback
        features = ctypes.cast(handle, ctypes.POINTER(_Voice))[0].features
        # The voice owns `info` from here on.
        value = self._lib.audio_streaming_info_val(info)
        self._lib.flite_feat_set(features, b"streaming_info", value)
        return handle

    def _declare(self) -> None:
        """Tell ctypes the signatures: without them a 64-bit pointer is cut to an int."""
        pointer, text, real = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_float
        info = ctypes.POINTER(_StreamingInfo)
        signatures: dict[str, tuple[object, tuple[object, ...]]] = {
            "flite_init": (ctypes.c_int, ()),
            "new_audio_streaming_info": (info, ()),
            "audio_streaming_info_val": (pointer, (info,)),
            "flite_feat_set": (None, (pointer, text, pointer)),
            "flite_feat_set_float": (None, (pointer, text, real)),
            "flite_synth_text": (pointer, (text, pointer)),
            "delete_utterance": (None, (pointer,)),
            "utt_relation_present": (ctypes.c_int, (pointer, text)),
            "utt_relation": (pointer, (pointer, text)),
            "relation_head": (pointer, (pointer,)),
            "item_next": (pointer, (pointer,)),
            "item_daughter": (pointer, (pointer,)),
            "item_last_daughter": (pointer, (pointer,)),
            "item_as": (pointer, (pointer, text)),
            "flite_ffeature_string": (text, (pointer, text)),
            "flite_ffeature_float": (real, (pointer, text)),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments


@functools.cache
def load_flite() -> Flite:
    """Load the library, once for the process: its voices are global and hold one callback.

    Raises:
        OSError: the library or one of the voices is not installed.
    """
    return Flite()
