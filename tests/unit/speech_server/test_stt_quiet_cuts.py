from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.stt.engine import Utterance
from speech_server.stt.quiet_cuts import cut_where_quiet
from speech_server.stt.whisper import WhisperEngine
from tests.unit.speech_server.micro_whisper import loaded_engine


def test_pieces_are_cut_in_quiet_places_and_lose_nothing() -> None:
    pcm = np.tile(np.repeat(np.array([0.5, 0.0], np.float32), 16_000), 20)
    pieces = list(cut_where_quiet(pcm, longest_s=12.0, search_s=5.0))
    assert np.array_equal(np.concatenate(pieces), pcm)
    assert all(len(piece) <= 12 * 16_000 for piece in pieces)
    assert all(piece[-1] == 0.0 for piece in pieces)


@pytest.mark.parametrize("samples", [0, 1, 12 * 16_000])
def test_short_audio_stays_whole(samples: int) -> None:
    pcm = np.ones(samples, np.float32)
    (piece,) = cut_where_quiet(pcm, longest_s=12.0, search_s=5.0)
    assert piece is pcm


def test_audio_without_a_quiet_place_is_cut_all_the_same() -> None:
    pcm = np.ones(100 * 16_000, np.float32)
    pieces = list(cut_where_quiet(pcm, longest_s=29.5, search_s=8.0))
    assert sum(map(len, pieces)) == len(pcm)
    assert max(map(len, pieces)) <= 29.5 * 16_000


LENGTHS = st.integers(0, 75 * 16_000) | st.integers(-3, 3).map(
    lambda off: 29 * 16_000 + 8_000 + off
)


@settings(max_examples=60, deadline=None)
@given(
    samples=LENGTHS,
    longest_tenths=st.integers(2, 300),
    search_share=st.floats(0.1, 1.0),
    seed=st.integers(0, 99),
)
def test_any_audio_in_pieces_is_the_audio_again(
    samples: int, longest_tenths: int, search_share: float, seed: int
) -> None:
    pcm = np.random.default_rng(seed).normal(0.0, 0.1, samples).astype(np.float32)
    search_tenths = max(1, int(longest_tenths * search_share))
    pieces = list(cut_where_quiet(pcm, longest_tenths / 10, search_tenths / 10))
    assert np.array_equal(np.concatenate(pieces), pcm)
    assert max(map(len, pieces)) <= longest_tenths * 1_600
    shortest = (longest_tenths - search_tenths) * 1_600 + 800
    assert all(len(piece) >= shortest for piece in pieces[:-1])


@pytest.fixture(scope="module")
def engine() -> Iterator[WhisperEngine]:
    engine = loaded_engine()
    yield engine
    engine.close()


@settings(max_examples=25, deadline=None)
@given(
    samples=LENGTHS, silent=st.lists(st.tuples(st.integers(0, 70), st.integers(1, 40)), max_size=2)
)
def test_whisper_reads_every_sample_that_is_not_silence_once(
    engine: WhisperEngine, samples: int, silent: list[tuple[int, int]]
) -> None:
    # Samples that number themselves, in steps that float32 tells apart.
    pcm = ((1 + np.arange(samples)) / 2**21).astype(np.float32) + np.float32(0.1)
    for begin_s, length_s in silent:
        pcm[begin_s * 16_000 : (begin_s + length_s) * 16_000] = 0.0
    assert engine._loaded is not None
    pieces = engine._pieces(engine._loaded, 7, Utterance(pcm))
    end = 0
    for piece in pieces:
        begin = round(piece.start_s * 16_000)
        assert begin >= end
        assert not pcm[end:begin].any() or begin - end < 800
        end = begin + len(piece.pcm)
        assert np.array_equal(piece.pcm, pcm[begin:end])
        assert len(piece.pcm) <= 29.5 * 16_000
        assert piece.utterance == 7
    assert not pcm[end:].any() or samples - end < 800
