from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.silence import AUDIBLE_LEVEL, SENTENCE_PAUSE_S, SilenceTrimmer
from speech_server.tts.speech_edges import (
    EDGE_S,
    HIGHEST_LEVEL,
    KEPT_BEFORE_S,
    KEPT_BEHIND_S,
    LOWEST_LEVEL,
    SilenceLevel,
    SpeechEdges,
)

RATE_HZ = 24_000
RANDOM = np.random.default_rng(7)
STEP = 240
EDGE = round(EDGE_S * RATE_HZ)


def noise(rms: float, duration_s: float) -> np.ndarray:
    return RANDOM.normal(0.0, rms, round(duration_s * RATE_HZ)).astype(np.int16)


def murmur(duration_s: float) -> np.ndarray:
    """Near-silence with single samples that `SilenceTrimmer` takes for sound."""
    pcm = np.zeros(round(duration_s * RATE_HZ), np.int16)
    pcm[::STEP] = AUDIBLE_LEVEL + 50
    return pcm


def cut(
    pcm: np.ndarray, pieces: int = 1, level: float = LOWEST_LEVEL
) -> tuple[np.ndarray, SpeechEdges]:
    edges = SpeechEdges(RATE_HZ, level)
    parts = [edges.push(part) for part in np.array_split(pcm, pieces)]
    return np.concatenate([*parts, edges.finish()]), edges


@pytest.mark.parametrize("lead_s", [0.0, 0.05, 0.2, 0.7])
@pytest.mark.parametrize("tail_s", [0.0, 0.05, 0.2, 0.31])
@pytest.mark.parametrize("pieces", [1, 3, 11, 400])
def test_near_silence_goes_and_speech_stays(lead_s: float, tail_s: float, pieces: int) -> None:
    lead, speech, tail = noise(20, lead_s), noise(3_000, 0.5), noise(20, tail_s)
    heard, edges = cut(np.concatenate((lead, speech, tail)), pieces)
    before = len(lead) - edges.dropped
    assert 0 <= before <= round((KEPT_BEFORE_S + 0.01) * RATE_HZ)
    assert np.array_equal(heard[before : before + len(speech)], speech)
    behind = len(heard) - before - len(speech)
    assert 0 <= behind <= round((SENTENCE_PAUSE_S + 0.01) * RATE_HZ)


def test_of_a_very_long_end_a_bounded_part_is_cut() -> None:
    speech = noise(3_000, 0.5)
    heard, _ = cut(np.concatenate((speech, noise(20, 1.0))), 100)
    assert len(speech) + 0.65 * RATE_HZ <= len(heard) < len(speech) + 0.75 * RATE_HZ


def test_the_clicks_of_a_codec_are_no_speech() -> None:
    silence, speech = noise(20, 0.3), noise(3_000, 0.5)
    pcm = np.concatenate((silence, speech, silence))
    pcm[: EDGE - 5] = 2_000
    pcm[-EDGE + 5 :] = -2_000
    heard, edges = cut(pcm, 7)
    assert len(silence) - edges.dropped <= round((KEPT_BEFORE_S + 0.01) * RATE_HZ)
    assert len(heard) <= len(speech) + round((KEPT_BEFORE_S + SENTENCE_PAUSE_S + 0.02) * RATE_HZ)
    assert np.abs(heard[-RATE_HZ // 10 :]).max() < AUDIBLE_LEVEL


def test_a_sound_of_ten_milliseconds_does_not_begin_speech() -> None:
    knock = np.concatenate((noise(20, 0.1), noise(900, 0.01), noise(20, 0.2)))
    speech = noise(3_000, 0.5)
    heard, _ = cut(np.concatenate((knock, speech)), 7)
    assert len(heard) <= len(speech) + round((KEPT_BEFORE_S + 0.01) * RATE_HZ)


def test_pauses_inside_stay() -> None:
    speech = np.concatenate((noise(3_000, 0.3), noise(10, 1.0), noise(3_000, 0.3)))
    heard, edges = cut(speech, 9)
    assert np.array_equal(heard, speech)
    assert edges.dropped == 0


def test_a_pause_is_handed_out_while_it_lasts() -> None:
    edges = SpeechEdges(RATE_HZ)
    pcm = np.concatenate((noise(3_000, 0.3), noise(20, SENTENCE_PAUSE_S)))
    late = []
    for end in range(0, len(pcm), 1_000):
        edges.push(pcm[end : end + 1_000])
        late.append(len(edges._held))
    assert max(late) < STEP + EDGE


def test_what_exceeds_a_pause_waits_for_what_follows() -> None:
    edges = SpeechEdges(RATE_HZ)
    speech, pause = noise(3_000, 0.3), noise(20, 0.4)
    handed_out = edges.push(np.concatenate((speech, pause)))
    assert len(handed_out) <= len(speech) + round((SENTENCE_PAUSE_S + 0.01) * RATE_HZ)
    rest = edges.push(speech)
    assert len(handed_out) + len(rest) >= 2 * len(speech) + len(pause) - STEP - EDGE


@pytest.mark.parametrize("tail_s", [0.0, 0.06, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("tail", [murmur, lambda duration_s: noise(20, duration_s)])
@pytest.mark.parametrize("pieces", [1, 9])
def test_the_pause_behind_is_no_longer_for_it(
    tail_s: float, tail: Callable[[float], np.ndarray], pieces: int
) -> None:
    speech = noise(3_000, 0.5)
    edges, trimmer = SpeechEdges(RATE_HZ), SilenceTrimmer(RATE_HZ, SENTENCE_PAUSE_S)
    parts = np.array_split(np.concatenate((speech, tail(tail_s))), pieces)
    heard = [trimmer.push(edges.push(part)) for part in parts]
    heard += [trimmer.push(edges.finish()), trimmer.finish()]
    behind_s = sum(map(len, heard)) / RATE_HZ - 0.5
    assert SENTENCE_PAUSE_S - 0.01 <= behind_s <= SENTENCE_PAUSE_S + KEPT_BEHIND_S + 0.01


def test_of_silence_alone_nothing_is_left() -> None:
    heard, edges = cut(noise(20, 2.0), 13)
    assert len(heard) == 0
    assert edges.dropped == 2 * RATE_HZ


def test_a_sound_too_short_to_be_sure_of_is_kept_when_nothing_follows() -> None:
    heard, _ = cut(np.concatenate((noise(20, 0.2), noise(3_000, 0.015))), 5)
    assert np.abs(heard.astype(int)).max() > 3_000


def test_the_silence_of_a_noisy_voice_is_learnt() -> None:
    silence, speech = noise(110, 0.3), noise(3_000, 0.5)
    pcm = np.concatenate((silence, speech, silence))
    level = SilenceLevel()
    unknown, first = cut(pcm, 9, level.sound_level)
    assert len(unknown) == len(pcm)
    level.learn(first.quietest_rms)
    known, _ = cut(pcm, 9, level.sound_level)
    assert len(known) <= len(speech) + round((KEPT_BEFORE_S + KEPT_BEHIND_S + 0.02) * RATE_HZ)


def test_speech_without_a_pause_teaches_nothing() -> None:
    level = SilenceLevel()
    _, edges = cut(noise(3_000, 0.5))
    level.learn(edges.quietest_rms)
    assert level.sound_level == LOWEST_LEVEL


@given(st.lists(st.floats(0, 1e5) | st.just(float("inf")), max_size=5))
def test_the_level_stays_within_its_limits(quietest: list[float]) -> None:
    level = SilenceLevel()
    for rms in quietest:
        level.learn(rms)
        assert LOWEST_LEVEL <= level.sound_level <= HIGHEST_LEVEL


@given(
    st.lists(st.tuples(st.sampled_from([0, 50, 2_000, -1]), st.integers(1, 9_000)), max_size=12),
    st.integers(1, 40),
)
def test_the_cut_does_not_depend_on_the_pieces(blocks: list[tuple[int, int]], pieces: int) -> None:
    parts = [murmur(n / RATE_HZ) if v < 0 else np.full(n, v, np.int16) for v, n in blocks]
    pcm = np.concatenate([np.zeros(0, np.int16), *parts])
    whole, at_once = cut(pcm)
    heard, in_pieces = cut(pcm, pieces)
    assert np.array_equal(heard, whole)
    assert at_once.dropped == in_pieces.dropped
    assert at_once.quietest_rms == in_pieces.quietest_rms
    assert np.array_equal(heard, pcm[at_once.dropped :][: len(heard)])
