"""Tokens of the tiny voice, streamed through SNAC as a call does, are read back as their words."""

import re

import numpy as np
import pytest
from rapidfuzz.distance import Levenshtein

from bench.tts.snac_work import ours
from speech_server.audio.pcm import PcmFloat, float_to_int16
from speech_server.tts.orpheus_codes import (
    END_OF_SPEECH_ID,
    FRAME_SAMPLES,
    SAMPLE_RATE_HZ,
    Frame,
    FrameAssembler,
    codes_of,
    token_ids,
)
from speech_server.tts.silence import SilenceTrimmer
from speech_server.tts.snac_decoder import SnacDecoder, load_snac
from speech_server.tts.snac_stream import Pace, SnacStream, Window
from tests.heard import words_heard
from tests.tiny_voice import SNAC_FOLDER, sentences

TEXTS = tuple(sentences())
EDGE_SAMPLES = 32
"""The decoder's padding is heard as a click in the first 30 samples; see the voice's README."""


@pytest.fixture(scope="module")
def snac() -> SnacDecoder:
    return load_snac(SNAC_FOLDER, "cpu")


def stream_tokens(snac: SnacDecoder, frames: list[Frame], pace: Pace | None = None) -> PcmFloat:
    assembler, stream = FrameAssembler(), SnacStream(snac.decode, pace)
    heard: list[PcmFloat] = []
    for id_ in [*(id_ for frame in frames for id_ in token_ids(frame)), END_OF_SPEECH_ID]:
        heard += stream.push(assembler.push(id_))
    assert assembler.ended
    assert assembler.flush() == []
    return np.concatenate(heard + stream.flush())


def words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9']+", text.lower())


@pytest.mark.parametrize("text", TEXTS)
def test_a_streamed_sentence_is_read_back(snac: SnacDecoder, text: str) -> None:
    audio = stream_tokens(snac, sentences()[text])
    said, heard = words(text), words_heard(float_to_int16(audio), SAMPLE_RATE_HZ)
    # The recogniser is unsure of single words of so small a voice.
    allowed = 1 if len(said) >= 4 else 0
    assert Levenshtein.distance(said, heard) <= allowed, heard


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("speed", [1.0, 1.2, 2.0, 8.0])
def test_no_frame_is_lost_and_the_rest_of_a_sentence_is_exact(
    snac: SnacDecoder, text: str, speed: float
) -> None:
    codes, pace = codes_of(sentences()[text]), Pace.for_speed(speed)
    heard, full = ours(snac, codes, pace), snac.decode(Window(codes))
    assert heard.audio.shape == full.shape == (len(codes) * FRAME_SAMPLES,)
    assert heard.opening <= 5 + len(pace.opening)
    error = np.abs(heard.audio - full)[heard.opening * FRAME_SAMPLES :]
    assert error.max(initial=0.0) <= 1e-4


@pytest.mark.parametrize("text", TEXTS)
def test_trimmed_speech_starts_at_once(snac: SnacDecoder, text: str) -> None:
    trimmer = SilenceTrimmer(SAMPLE_RATE_HZ, pause_s=0.2)
    audio = float_to_int16(stream_tokens(snac, sentences()[text]))[EDGE_SAMPLES:]
    trimmed = trimmer.push(audio)
    onset = int(np.flatnonzero(np.abs(trimmed.astype(np.int32)) >= 300)[0])
    assert trimmer.dropped > 0
    assert onset <= 0.04 * SAMPLE_RATE_HZ
