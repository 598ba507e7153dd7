import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speech_server.tts.orpheus_watchdog import (
    LONGEST_PATTERN,
    LONGEST_SILENCE_S,
    LOOP_FRAMES,
    LoopDetector,
    SilenceDetector,
)
from tests.unit.speech_server.fake_voice import frame

RATE_HZ = 24_000


def first_alarm(numbers: list[int]) -> tuple[int, int] | None:
    """Place of the frame at which a loop is found, and how many frames are said to repeat."""
    detector = LoopDetector()
    for place, number in enumerate(numbers):
        if repeated := detector.push(frame(number)):
            return place, repeated
    return None


def test_different_frames_are_no_loop() -> None:
    assert first_alarm(list(range(500))) is None


def test_a_short_repetition_is_no_loop() -> None:
    assert first_alarm([*[1] * LOOP_FRAMES, *range(50)]) is None


@pytest.mark.parametrize("period", [1, 2, 3, 7, LONGEST_PATTERN])
def test_a_loop_is_found_and_measured(period: int) -> None:
    lead = list(range(100, 120))
    numbers = lead + list(range(period)) * 200
    alarm = first_alarm(numbers)
    assert alarm is not None
    place, repeated = alarm
    assert repeated == max(LOOP_FRAMES, 2 * period)
    # What is left when they are dropped is the pattern said once.
    assert numbers[: place + 1 - repeated] == lead + list(range(period))


@given(st.lists(st.integers(0, 3), max_size=60))
def test_what_is_called_a_loop_repeats(numbers: list[int]) -> None:
    alarm = first_alarm(numbers)
    if alarm is not None:
        place, repeated = alarm
        heard = numbers[: place + 1]
        assert any(
            heard[-repeated:] == heard[-repeated - period : -period]
            for period in range(1, LONGEST_PATTERN + 1)
        )


def pcm(level: int, duration_s: float) -> np.ndarray:
    return np.full(round(duration_s * RATE_HZ), level, dtype=np.int16)


def test_silence_is_measured_from_the_last_sound_on() -> None:
    detector = SilenceDetector(RATE_HZ)
    detector.push(pcm(5_000, 1.0))
    detector.push(np.concatenate((pcm(0, 0.5), pcm(-32_768, 0.5), pcm(20, 0.25))))
    assert detector.quiet_samples == RATE_HZ // 4
    assert detector.spoken_samples == 2 * RATE_HZ
    assert not detector.too_long


def test_silence_becomes_too_long_and_can_begin_anew() -> None:
    detector = SilenceDetector(RATE_HZ)
    detector.push(pcm(30, LONGEST_SILENCE_S))
    assert detector.too_long
    detector.restart()
    assert not detector.too_long
