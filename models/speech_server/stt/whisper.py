"""Whisper through CTranslate2: any language, any size, all callers of a moment in one batch."""

import logging
import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal

import numpy as np

from speech_server.metrics import DOUBTED
from speech_server.stt import whisper_guards
from speech_server.stt.engine import (
    SAMPLE_RATE_HZ,
    Pcm,
    SttEngineInfo,
    Transcript,
    Utterance,
    Word,
)
from speech_server.stt.quiet_cuts import cut_where_quiet
from speech_server.stt.whisper_decoder import Reading, WhisperDecoder, Window
from speech_server.stt.whisper_features import FULL_WINDOW_S, Windows
from speech_server.stt.whisper_languages import bcp_47_tag, whisper_code
from speech_server.stt.whisper_model import WhisperModel, WhisperUnavailable, load_whisper

logger = logging.getLogger(__name__)

_LONGEST_PIECE_S: Final = 29.5
_CUT_SEARCH_S: Final = 8.0
"""A cut is made at the quietest place of this much audio before the limit, seconds."""
_SHORTEST_S: Final = 0.05
"""Shorter than any word: a click, or the end of something that was cut off."""
_SILENT_PEAK: Final = 1e-3
"""Audio that never exceeds this (-60 dBFS) holds no speech."""
_SPECTRUM_THREADS: Final = 8
_BATCH_SIZES: Final = {"cpu": 8, "cuda": 32}
"""On two CPU cores a larger batch gains nothing."""


@dataclass(frozen=True, slots=True)
class WhisperOptions:
    """How to run Whisper."""

    model: str | None = None
    """A directory or a name of the Hugging Face hub; None: what suits the device."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    compute_type: str = "auto"
    """CTranslate2's name; `auto`: float16 on a GPU, int8 on a CPU."""
    language: str | None = None
    """BCP 47 tag for callers that name none; None: detected for each utterance."""
    cpu_threads: int = 0
    """0 lets CTranslate2 decide."""
    max_batch_size: int | None = None
    """Most utterances in one call of the model; None: what suits the device."""
    beam_size: int = 1
    """1 takes the best token every time."""
    shortest_window_s: float = 10.0
    """The encoder never sees less, seconds. Models not trained for it may repeat themselves in a
    shorter window; 30 is what Whisper was trained on."""
    word_times: bool = False
    """Whether transcripts carry word times, at the cost of one more pass of the decoder."""
    allow_download: bool = False
    """Fetch a hub's model that is not on this machine."""


@dataclass(frozen=True, slots=True)
class _Piece:
    """As much of an utterance as fits one window."""

    utterance: int
    """Index in the batch."""
    start_s: float
    """Where it begins in the utterance, seconds."""
    pcm: Pcm
    language: str | None
    prompt: tuple[int, ...]

    @property
    def duration_s(self) -> float:
        return len(self.pcm) / SAMPLE_RATE_HZ


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: WhisperModel
    decoder: WhisperDecoder
    windows: Windows


class WhisperEngine:
    """Runs Whisper for all callers at once. Implements `SttEngine`.

    Args:
        options: which model, where and how.
    """

    def __init__(self, options: WhisperOptions) -> None:
        self._options = options
        self._loaded: _Loaded | None = None
        # A millisecond or more for each utterance: a GPU would wait longer for a batch's spectra
        # than it works on them.
        self._spectra = ThreadPoolExecutor(
            min(_SPECTRUM_THREADS, os.cpu_count() or 1), thread_name_prefix="stt-spectrum"
        )

    @property
    def info(self) -> SttEngineInfo:
        """What the engine can do; languages, word times and batch size are known once loaded."""
        if self._loaded is None:
            return SttEngineInfo(name="whisper", model=Path(self._options.model or "whisper").name)
        model = self._loaded.model
        return SttEngineInfo(
            name="whisper",
            model=model.name,
            languages=tuple(map(bcp_47_tag, model.languages)),
            word_times=self._word_times(model),
            max_batch_size=self._options.max_batch_size or _BATCH_SIZES[model.device],
        )

    def load(self) -> None:
        """Load the model and run it: on a GPU in every window, so that no caller waits for that.

        Raises:
            WhisperUnavailable: the library, the model or the device is missing, or the model does
                not know the language of the options.
        """
        options = self._options
        model = load_whisper(
            options.model,
            device=options.device,
            compute_type=options.compute_type,
            cpu_threads=options.cpu_threads,
            allow_download=options.allow_download,
        )
        decoder = WhisperDecoder(model, options.beam_size, self._word_times(model))
        windows = Windows(model.extract_features, options.shortest_window_s)
        loaded = _Loaded(model, decoder, windows)
        try:
            self._language(model, None)
            self._warm_up(loaded)
        except (ValueError, RuntimeError) as error:
            model.close()
            raise WhisperUnavailable(
                f"the Whisper model {model.name} does not run on this {model.device}: {error}"
            ) from error
        self._loaded = loaded

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        """Transcribe a batch; see `SttEngine.transcribe`."""
        loaded = self._loaded
        if loaded is None:
            raise RuntimeError("the engine is not loaded")
        failures: dict[int, Exception] = {}
        pieces: list[_Piece] = []
        for index, utterance in enumerate(batch):
            try:
                pieces += self._pieces(loaded, index, utterance)
            except ValueError as error:
                failures[index] = error
        heard: dict[int, list[tuple[_Piece, Reading]]] = defaultdict(list)
        for piece, reading in zip(pieces, self._heard(loaded, pieces), strict=True):
            if isinstance(reading, Exception):
                failures[piece.utterance] = reading
            elif reading.text:
                heard[piece.utterance].append((piece, reading))
        return [
            failures.get(index) or self._transcript(heard[index], loaded)
            for index in range(len(batch))
        ]

    def close(self) -> None:
        """Free the model."""
        if self._loaded is not None:
            self._loaded.model.close()
            self._loaded = None
        self._spectra.shutdown()

    def _warm_up(self, loaded: _Loaded) -> None:
        noise = np.random.default_rng(0).normal(0.0, 0.05, SAMPLE_RATE_HZ).astype(np.float32)
        steps_s = loaded.windows.steps_s
        for window_s in steps_s if loaded.model.device == "cuda" else steps_s[:1]:
            features = loaded.windows.features(noise, window_s)
            loaded.decoder.read([Window(features, 1.0, "en")])

    def _word_times(self, model: WhisperModel) -> bool:
        return self._options.word_times and model.alignable

    def _pieces(self, loaded: _Loaded, index: int, utterance: Utterance) -> list[_Piece]:
        pcm = utterance.pcm
        if pcm.ndim != 1:
            raise ValueError(f"audio must have one dimension, not {pcm.ndim}")
        if not np.isfinite(pcm).all():
            raise ValueError("audio must be finite: it holds NaN or infinity")
        language = self._language(loaded.model, utterance.language)
        prompt = loaded.decoder.prompt(utterance.prompt)
        pieces: list[_Piece] = []
        start_s = 0.0
        for part in cut_where_quiet(pcm, _LONGEST_PIECE_S, _CUT_SEARCH_S):
            if len(part) >= _SHORTEST_S * SAMPLE_RATE_HZ and np.abs(part).max() >= _SILENT_PEAK:
                pieces.append(_Piece(index, start_s, part, language, prompt))
            start_s += len(part) / SAMPLE_RATE_HZ
        return pieces

    def _language(self, model: WhisperModel, tag: str | None) -> str | None:
        tag = tag or self._options.language
        if tag is None:
            return None
        code = whisper_code(tag)
        if code not in model.languages:
            known = ", ".join(model.languages)
            raise ValueError(f"language {code}: the model knows {known} only")
        return code

    def _heard(self, loaded: _Loaded, pieces: list[_Piece]) -> list[Reading | Exception]:
        """Read every piece; take a second look where the first is not to be trusted."""
        readings = self._read(loaded, pieces)
        doubts: dict[int, whisper_guards.Doubt] = {}
        for index, (piece, reading) in enumerate(zip(pieces, readings, strict=True)):
            if isinstance(reading, Reading) and (why := _doubt(reading, piece.duration_s)):
                DOUBTED.labels(why).inc()
                doubts[index] = why
        again = [
            index
            for index, why in doubts.items()
            if why != "no_speech" and self._can_look_again(loaded, pieces[index])
        ]
        # Without the prompt: a model that is at a loss tends to repeat it.
        second_look = [replace(pieces[index], prompt=()) for index in again]
        seconds = self._read(loaded, second_look, FULL_WINDOW_S)
        for index, second in zip(again, seconds, strict=True):
            readings[index] = second
        for index in doubts:
            reading = readings[index]
            if isinstance(reading, Reading):
                readings[index] = _settled(reading, pieces[index].duration_s)
        return readings

    def _can_look_again(self, loaded: _Loaded, piece: _Piece) -> bool:
        """Whether a full window without a prompt would show the model anything new."""
        return bool(piece.prompt) or loaded.windows.fitting_s(len(piece.pcm)) < FULL_WINDOW_S

    def _read(
        self, loaded: _Loaded, pieces: list[_Piece], window_s: float | None = None
    ) -> list[Reading | Exception]:
        def window_of(piece: _Piece) -> Window:
            fitting_s = window_s or loaded.windows.fitting_s(len(piece.pcm))
            features = loaded.windows.features(piece.pcm, fitting_s)
            return Window(features, piece.duration_s, piece.language, piece.prompt)

        groups: dict[tuple[int, int], list[tuple[int, Window]]] = defaultdict(list)
        for index, window in enumerate(self._spectra.map(window_of, pieces)):
            groups[window.shape].append((index, window))
        readings: dict[int, Reading | Exception] = {}
        size = self.info.max_batch_size
        for group in groups.values():
            for begin in range(0, len(group), size):
                indices, windows = zip(*group[begin : begin + size], strict=True)
                readings.update(zip(indices, _read_group(loaded.decoder, windows), strict=True))
        return [readings[index] for index in range(len(pieces))]

    def _transcript(self, heard: list[tuple[_Piece, Reading]], loaded: _Loaded) -> Transcript:
        if not heard:
            return Transcript("", words=() if self._word_times(loaded.model) else None)
        characters = np.array([len(reading.text) for _, reading in heard])
        confidences = np.array([reading.confidence for _, reading in heard])
        language = heard[int(characters.argmax())][1].language
        words = [
            _later(word, piece.start_s) for piece, reading in heard for word in reading.words or ()
        ]
        return Transcript(
            text=" ".join(reading.text for _, reading in heard),
            language=bcp_47_tag(language),
            words=tuple(words) if self._word_times(loaded.model) else None,
            confidence=float(np.average(confidences, weights=characters)),
        )


def _read_group(
    decoder: WhisperDecoder, windows: Sequence[Window]
) -> Sequence[Reading | Exception]:
    try:
        return decoder.read(windows)
    except Exception as error:  # handed back: the batcher reports it for this one alone
        if len(windows) == 1:
            return [error]
        logger.warning("batch failed, reading one at a time", exc_info=error)
        return [reading for window in windows for reading in _read_group(decoder, [window])]


def _doubt(reading: Reading, duration_s: float) -> whisper_guards.Doubt | None:
    return whisper_guards.doubt(
        reading.text, reading.no_speech, reading.log_probability, duration_s
    )


def _settled(reading: Reading, duration_s: float) -> Reading:
    text = whisper_guards.settle(
        reading.text, reading.no_speech, reading.log_probability, duration_s
    )
    # Of the words that are left, nobody knows which of the rounds they were.
    return reading if text == reading.text else replace(reading, text=text, words=None)


def _later(word: Word, by_s: float) -> Word:
    return replace(word, start_s=word.start_s + by_s, end_s=word.end_s + by_s)
