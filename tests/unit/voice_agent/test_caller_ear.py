"""Onsets and ends to the sample, on signals whose truth is known."""

import numpy as np
import pytest

from voice_agent.caller.ear import BREATH_S, Ear
from voice_agent.caller.sound import (
    AUDIBLE_SAMPLE,
    FRAME_S,
    FRAME_SAMPLES,
    NOISE_FLOOR_RMS,
    RATE_HZ,
    Pcm16,
    audible_indices,
    rms,
)


def frame(start: int = 0, end: int = FRAME_SAMPLES, level: int = 5000) -> Pcm16:
    """Silence with a square wave from sample `start` to before sample `end`."""
    samples = np.zeros(FRAME_SAMPLES, np.int16)
    samples[start:end] = level
    samples[start:end:2] = -level
    return samples


def noise() -> Pcm16:
    return np.random.default_rng(1).normal(0, NOISE_FLOOR_RMS, FRAME_SAMPLES).astype(np.int16)


def test_onset_is_the_first_audible_sample_of_the_first_audible_frame() -> None:
    ear = Ear()
    ear.hear(frame(0, 0), 10.00)
    ear.hear(frame(start=100), 10.01)
    ear.hear(frame(), 10.02)
    sound = ear.first_sound_since(0)
    assert sound is not None
    assert sound.start_s == pytest.approx(10.01 + 100 / RATE_HZ, abs=1e-9)
    assert sound.end_s == pytest.approx(10.02 + (FRAME_SAMPLES - 1) / RATE_HZ, abs=1e-9)


def test_silence_and_the_noise_floor_are_no_sound() -> None:
    ear = Ear()
    for index in range(100):
        ear.hear(noise(), index * FRAME_S)
        ear.hear(np.zeros(0, np.int16), index * FRAME_S)
    assert ear.first_sound_since(0) is None
    assert not ear.audible_after(-1)
    assert ear.silent_for_s(5) == float("inf")


def test_a_click_too_short_for_its_frame_is_no_sound() -> None:
    ear = Ear()
    ear.hear(frame(start=7, end=8, level=AUDIBLE_SAMPLE * 2), 1.0)
    assert ear.first_sound_since(0) is None


def test_quiet_start_of_a_frame_is_not_counted() -> None:
    samples = frame(start=120)
    samples[:120] = AUDIBLE_SAMPLE  # at the threshold is not above it
    ear = Ear()
    ear.hear(samples, 0.0)
    sound = ear.first_sound_since(0)
    assert sound is not None
    assert sound.start_s == pytest.approx(120 / RATE_HZ)


def test_a_gap_shorter_than_a_breath_stays_one_sound() -> None:
    ear = Ear()
    ear.hear(frame(), 1.0)
    ear.hear(frame(), 1.0 + FRAME_S + BREATH_S * 0.9)
    assert ear.first_sound_since(1.001) is None
    ear.hear(frame(), 3.0)
    second = ear.first_sound_since(1.001)
    assert second is not None
    assert second.start_s == 3.0


def test_sounds_that_began_before_are_not_since() -> None:
    ear = Ear()
    ear.hear(frame(), 1.0)
    ear.hear(frame(), 1.0 + FRAME_S)
    assert ear.first_sound_since(1.0) is not None
    assert ear.first_sound_since(1.005) is None
    assert ear.audible_after(1.005)
    assert not ear.audible_after(1.0 + 2 * FRAME_S)


def test_silence_is_measured_from_the_last_audible_sample() -> None:
    ear = Ear()
    ear.hear(frame(end=120), 2.0)
    ear.hear(noise(), 2.01)
    assert ear.silent_for_s(3.0) == pytest.approx(1.0 - 119 / RATE_HZ, abs=1e-9)


def test_late_frames_that_come_together_make_one_sound() -> None:
    ear = Ear()
    for _ in range(5):  # a burst: five frames at one moment
        ear.hear(frame(), 4.0)
    sound = ear.first_sound_since(0)
    assert sound is not None
    assert (sound.start_s, sound.end_s) == (4.0, 4.0 + (FRAME_SAMPLES - 1) / RATE_HZ)


def test_the_loudest_negative_sample_is_loud() -> None:
    samples = np.zeros(FRAME_SAMPLES, np.int16)
    samples[5] = -(2**15)  # its magnitude does not fit into int16
    assert audible_indices(samples) == (5, 5)
    assert rms(samples) == pytest.approx(2**15 / FRAME_SAMPLES**0.5)


def test_every_sound_is_kept_in_its_order() -> None:
    ear = Ear()
    for at_s in (0.0, 0.01, 1.0):
        ear.hear(frame(), at_s)
    assert [round(sound.start_s, 3) for sound in ear.sounds] == [0.0, 1.0]
