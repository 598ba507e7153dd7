import numpy as np
import numpy.typing as npt
import pytest

from voice_agent.noise_floor import NoiseFloor

BLOCK = 240


def blocks(rms: float, seconds: float) -> list[npt.NDArray[np.int16]]:
    random = np.random.default_rng(0)
    return [random.normal(0, rms, BLOCK).astype(np.int16) for _ in range(round(100 * seconds))]


def heard(*lines: list[npt.NDArray[np.int16]]) -> float:
    floor = NoiseFloor()
    for line in lines:
        for block in line:
            floor.hear(block)
    return floor.rms


def test_nothing_is_known_before_the_first_moment_is_over() -> None:
    assert heard() == 0
    assert heard(blocks(1000, 0.04)) == 0


def test_steady_noise_is_its_own_floor() -> None:
    assert heard(blocks(1000, 2)) == pytest.approx(1000, rel=0.1)


def test_a_voice_is_not_the_floor_as_long_as_it_has_gaps() -> None:
    assert heard(*[blocks(3000, 0.9), blocks(30, 0.1)] * 5) == pytest.approx(30, rel=0.2)


def test_louder_noise_is_known_after_three_seconds() -> None:
    assert heard(blocks(30, 5), blocks(1000, 2.9)) < 100
    assert heard(blocks(30, 5), blocks(1000, 3.1)) == pytest.approx(1000, rel=0.1)


def test_quiet_is_known_at_once() -> None:
    assert heard(blocks(1000, 5), blocks(30, 0.1)) < 100


def test_the_loudest_sound_does_not_overflow() -> None:
    assert heard([np.full(BLOCK, -(2**15), np.int16)] * 5) == 2**15
