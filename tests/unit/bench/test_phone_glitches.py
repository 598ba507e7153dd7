"""Gaps in what was heard, on tracks whose truth is known to the sample."""

import numpy as np
import pytest

from bench.phone.glitches import HOLD_S, answer_track, glitches, late_gaps_s
from bench.phone.telephone import PACKET_S, PACKET_SAMPLES
from tests.unit.bench.phoned import arriving, speech

SAID = speech(4.0)
MS = 8
"""Samples."""


def test_the_same_words_on_a_noisy_line_have_no_gap() -> None:
    noise = np.random.default_rng(1).normal(0, 300, len(SAID))
    assert glitches(SAID, (SAID + noise).astype(np.int16)) == []


@pytest.mark.parametrize("shift_ms", [-40, 40])
def test_where_an_answer_is_first_audible_does_not_matter(shift_ms: int) -> None:
    shift = abs(shift_ms) * MS
    late, soon = np.concatenate([np.zeros(shift, np.int16), SAID]), SAID[shift:]
    assert glitches(SAID, late if shift_ms > 0 else soon) == []


@pytest.mark.parametrize("inserted_ms", [20, 60, 300])
def test_silence_that_was_not_said_is_a_gap(inserted_ms: int) -> None:
    at = 1500 * MS
    heard = np.concatenate([SAID[:at], np.zeros(inserted_ms * MS, np.int16), SAID[at:]])
    (glitch,) = glitches(SAID, heard)
    assert glitch.gap_s == pytest.approx(inserted_ms / 1000)
    assert glitch.at_s == pytest.approx(1.6, abs=0.2)


def test_words_that_were_left_out_are_one_as_well() -> None:
    heard = np.concatenate([SAID[: 1500 * MS], SAID[1540 * MS :]])
    (glitch,) = glitches(SAID, heard)
    assert glitch.gap_s == pytest.approx(-0.04)


def test_a_packet_that_was_lost_in_its_place_is_told_as_such() -> None:
    heard = SAID.copy()
    heard[1420 * MS : 1540 * MS] = 0
    (glitch,) = glitches(SAID, heard)
    assert glitch.gap_s is None
    assert glitch.at_s == pytest.approx(1.4)


def test_an_answer_that_breaks_off_shows() -> None:
    heard = SAID.copy()
    heard[2000 * MS :] = 0
    (glitch,) = glitches(SAID, heard)
    assert glitch.gap_s is None
    assert glitch.at_s == pytest.approx(2.0)


def test_an_answer_that_ends_sooner_than_the_other_shows() -> None:
    (glitch,) = glitches(SAID, SAID[: 2000 * MS])
    assert glitch.gap_s is None
    assert glitch.at_s == pytest.approx(2.0)


def test_two_places_are_two_glitches() -> None:
    gap = np.zeros(40 * MS, np.int16)
    pieces = [SAID[: 1000 * MS], gap, SAID[1000 * MS : 2000 * MS], gap, SAID[2000 * MS :]]
    assert [one.gap_s for one in glitches(SAID, np.concatenate(pieces))] == [
        pytest.approx(0.04),
        pytest.approx(0.04),
    ]


def test_an_answer_is_laid_out_by_its_timestamps() -> None:
    quiet = np.zeros(5 * PACKET_SAMPLES, np.int16)
    packets = arriving(np.concatenate([quiet, SAID]), {9: 0.5})
    del packets[20]
    track = answer_track(packets, 2.0)
    assert len(track) == 2.0 * 8000
    lost = slice(15 * PACKET_SAMPLES, 16 * PACKET_SAMPLES)
    expected = SAID[: len(track)].copy()
    expected[lost] = 0
    begin = int(np.flatnonzero(np.abs(expected.astype(np.int32)) > 250)[0])
    np.testing.assert_array_equal(track[:8000], expected[begin : begin + 8000])


def test_where_nothing_was_heard_there_is_no_track() -> None:
    assert answer_track([], 2.0).size == 0
    assert answer_track(arriving(np.zeros(1600, np.int16)), 2.0).size == 0


def test_sound_within_what_a_telephone_holds_back_is_in_time() -> None:
    assert late_gaps_s(arriving(SAID, {7: HOLD_S, 8: HOLD_S - PACKET_S})) == []


def test_sound_that_comes_later_is_a_break_once() -> None:
    late = {7: HOLD_S + 0.03, 8: HOLD_S + 0.01}
    assert late_gaps_s(arriving(SAID, late)) == [pytest.approx(0.03)]


def test_silence_that_comes_later_is_not_heard() -> None:
    assert late_gaps_s(arriving(np.zeros(8000, np.int16), {7: 0.3})) == []
