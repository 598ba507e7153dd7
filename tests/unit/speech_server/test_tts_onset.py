import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.onset import KEPT_S, OnsetTrimmer

RATE_HZ = 24_000
RANDOM = np.random.default_rng(7)


def noise(rms: float, duration_s: float) -> np.ndarray:
    return RANDOM.normal(0.0, rms, round(duration_s * RATE_HZ)).astype(np.int16)


def trimmed(pcm: np.ndarray, pieces: int = 1) -> tuple[np.ndarray, OnsetTrimmer]:
    trimmer = OnsetTrimmer(RATE_HZ)
    parts = [trimmer.push(part) for part in np.array_split(pcm, pieces)]
    return np.concatenate([*parts, trimmer.finish()]), trimmer


@pytest.mark.parametrize("lead_s", [0.0, 0.05, 0.2, 0.7])
@pytest.mark.parametrize("pieces", [1, 3, 11, 400])
def test_near_silence_goes_and_speech_stays(lead_s: float, pieces: int) -> None:
    lead, speech = noise(20, lead_s), noise(3_000, 0.5)
    heard, trimmer = trimmed(np.concatenate((lead, speech)), pieces)
    assert len(speech) <= len(heard) <= len(speech) + round((KEPT_S + 0.02) * RATE_HZ)
    assert np.array_equal(heard[-len(speech) :], speech)
    assert trimmer.dropped + len(heard) == len(lead) + len(speech)


def test_the_click_of_a_codec_is_no_speech() -> None:
    click = np.zeros(240, dtype=np.int16)
    click[:40] = 900
    speech = noise(3_000, 0.5)
    heard, _ = trimmed(np.concatenate((click, noise(20, 0.3), speech)), 7)
    assert len(heard) <= len(speech) + round((KEPT_S + 0.02) * RATE_HZ)


def test_pauses_inside_stay() -> None:
    speech = np.concatenate((noise(3_000, 0.3), noise(10, 1.0), noise(3_000, 0.3)))
    heard, trimmer = trimmed(speech, 9)
    assert np.array_equal(heard, speech)
    assert trimmer.dropped == 0


def test_of_silence_alone_hardly_anything_is_left() -> None:
    heard, trimmer = trimmed(noise(20, 2.0), 13)
    assert len(heard) <= 0.05 * RATE_HZ
    assert trimmer.dropped + len(heard) == 2 * RATE_HZ


@given(
    st.lists(st.tuples(st.sampled_from([0, 50, 2_000]), st.integers(1, 700)), max_size=12),
    st.integers(1, 40),
)
def test_the_cut_does_not_depend_on_the_pieces(blocks: list[tuple[int, int]], pieces: int) -> None:
    pcm = np.concatenate([np.zeros(0, np.int16), *(np.full(n, v, np.int16) for v, n in blocks)])
    whole, _ = trimmed(pcm)
    heard, trimmer = trimmed(pcm, pieces)
    assert trimmer.dropped + len(heard) == len(pcm)
    assert np.array_equal(heard, pcm[trimmer.dropped :])
    if len(whole) != len(heard):  # only where nothing lasted, and all that is left is the end
        assert max(len(whole), len(heard)) <= 0.05 * RATE_HZ
