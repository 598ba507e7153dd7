import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.audio.resample import StreamResampler

Pcm = npt.NDArray[np.float32]
RATES_HZ = (8_000, 11_025, 12_000, 22_050, 24_000, 32_000, 44_100, 48_000)


def sine(frequency_hz: float, rate_hz: int, duration_s: float = 0.5) -> Pcm:
    times = np.arange(round(duration_s * rate_hz)) / rate_hz
    return np.sin(2 * np.pi * frequency_hz * times).astype(np.float32)


def resample(pcm: Pcm, in_rate_hz: int, out_rate_hz: int, pieces: int = 1) -> Pcm:
    resampler = StreamResampler(in_rate_hz, out_rate_hz)
    parts = [resampler.push(piece) for piece in np.array_split(pcm, pieces)]
    return np.concatenate([*parts, resampler.flush()])


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_a_tone_stays_the_same_tone_at_the_same_time(rate_hz: int) -> None:
    heard = resample(sine(1000, rate_hz), rate_hz, 16_000)
    assert len(heard) == 8_000
    inner = slice(200, -200)
    assert np.abs(heard - sine(1000, 16_000))[inner].max() < 1e-3


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_up_and_down_from_16_khz_too(rate_hz: int) -> None:
    heard = resample(sine(1000, 16_000), 16_000, rate_hz)
    assert abs(len(heard) - rate_hz / 2) <= 1
    wanted = sine(1000, rate_hz)[: len(heard)]
    assert np.abs(heard[: len(wanted)] - wanted)[300:-300].max() < 1e-3


@pytest.mark.parametrize("rate_hz", [24_000, 44_100, 48_000])
def test_what_the_lower_rate_cannot_hold_is_removed(rate_hz: int) -> None:
    heard = resample(sine(9_500, rate_hz), rate_hz, 16_000)
    assert np.abs(heard[200:-200]).max() < 1e-3


@settings(deadline=None, max_examples=50)
@given(st.sampled_from(RATES_HZ), st.integers(1, 60))
def test_pieces_join_without_a_click(rate_hz: int, pieces: int) -> None:
    pcm = sine(440, rate_hz, 0.1)
    whole = resample(pcm, rate_hz, 16_000)
    joined = resample(pcm, rate_hz, 16_000, pieces)
    assert len(joined) == len(whole)
    assert np.abs(joined - whole).max() < 1e-6


@pytest.mark.parametrize("rate_hz", RATES_HZ)
def test_at_most_4_ms_are_held_back(rate_hz: int) -> None:
    resampler = StreamResampler(rate_hz, 16_000)
    sent_s = heard_s = 0.0
    for piece in np.array_split(sine(440, rate_hz, 1.0), 50):
        sent_s += len(piece) / rate_hz
        heard_s += len(resampler.push(piece)) / 16_000
        assert sent_s - heard_s < 0.004


def test_after_a_flush_it_begins_afresh() -> None:
    resampler = StreamResampler(24_000, 16_000)
    first = np.concatenate((resampler.push(sine(440, 24_000)), resampler.flush()))
    second = np.concatenate((resampler.push(sine(440, 24_000)), resampler.flush()))
    assert np.array_equal(first, second)


def test_equal_rates_pass_through() -> None:
    resampler = StreamResampler(16_000, 16_000)
    pcm = sine(440, 16_000)
    assert resampler.push(pcm) is pcm
    assert not resampler.flush().size


def test_nothing_in_nothing_out() -> None:
    resampler = StreamResampler(48_000, 16_000)
    assert not resampler.push(np.zeros(0, np.float32)).size
    assert not resampler.flush().any()
