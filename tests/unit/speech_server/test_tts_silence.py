"""Silence around a segment."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.silence import AUDIBLE_LEVEL, SilenceTrimmer, pause_after

RATE_HZ = 16_000


def tone(samples: int) -> np.ndarray:
    return np.full(samples, 5_000, dtype=np.int16)


def quiet(samples: int) -> np.ndarray:
    return np.full(samples, 40, dtype=np.int16)


def trim(pcm: np.ndarray, step: int, pause_s: float = 0.1) -> tuple[np.ndarray, SilenceTrimmer]:
    trimmer = SilenceTrimmer(RATE_HZ, pause_s)
    pieces = [trimmer.push(pcm[at : at + step]) for at in range(0, len(pcm), step)]
    return np.concatenate([*pieces, trimmer.finish()]), trimmer


@pytest.mark.parametrize("step", [1, 7, 160, 720, 100_000])
def test_leading_and_trailing_silence(step: int) -> None:
    trimmed, trimmer = trim(np.concatenate((quiet(3_200), tone(1_000), quiet(3_200))), step)
    onset = int(np.flatnonzero(np.abs(trimmed) >= AUDIBLE_LEVEL)[0])
    assert onset == 160  # 10 ms
    assert trimmer.dropped == 3_200 - 160
    assert len(trimmed) == 160 + 1_000 + 1_600  # and a pause of 100 ms


def test_a_pause_goes_out_before_it_is_known_what_follows() -> None:
    trimmer = SilenceTrimmer(RATE_HZ, pause_s=0.1)
    spoken = np.concatenate((tone(800), quiet(1_600)))
    assert np.array_equal(trimmer.push(spoken), spoken)
    assert not len(trimmer.finish())


def test_a_pause_inside_is_kept() -> None:
    spoken = np.concatenate((tone(800), quiet(8_000), tone(800)))
    trimmed, _ = trim(spoken, 720)
    assert np.array_equal(trimmed[:-1_600], spoken)


def test_a_missing_pause_is_filled_up() -> None:
    trimmed, _ = trim(tone(800), 720)
    assert len(trimmed) == 800 + 1_600
    assert not trimmed[800:].any()


def test_silence_alone_is_nothing() -> None:
    trimmed, trimmer = trim(quiet(8_000), 720)
    assert len(trimmed) == 0
    assert trimmer.dropped == 8_000


def test_the_loudest_negative_sample_is_audible() -> None:
    trimmed, _ = trim(np.array([-32_768], dtype=np.int16), 1)
    assert trimmed[0] == -32_768


@given(
    st.lists(st.sampled_from([0, 40, -40, 5_000, -32_768]), max_size=300),
    st.integers(1, 50),
)
def test_steps_do_not_matter(samples: list[int], step: int) -> None:
    pcm = np.array(samples, dtype=np.int16)
    whole, _ = trim(pcm, max(1, len(pcm)))
    pieces, _ = trim(pcm, step)
    assert np.array_equal(whole, pieces)


def test_pauses_fit_the_text() -> None:
    sentence, clause, words = (pause_after(text) for text in ("One. ", "One, ", "One "))
    assert sentence > clause > words > 0
    assert pause_after('He said "Go!" ') == pause_after("An item\n") == sentence
