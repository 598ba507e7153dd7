import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.audio.pcm import (
    float_to_int16,
    int16_to_float,
    int16_to_linear16,
    int16_to_mulaw,
    linear16_to_int16,
    mulaw_to_int16,
)

EVERY_SAMPLE = np.arange(-32768, 32768).astype(np.int16)


def test_linear16_is_little_endian_and_comes_back() -> None:
    assert int16_to_linear16(np.array([1, -2], np.int16)) == b"\x01\x00\xfe\xff"
    assert np.array_equal(linear16_to_int16(int16_to_linear16(EVERY_SAMPLE)), EVERY_SAMPLE)


def test_half_a_sample_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple"):
        linear16_to_int16(b"\x00\x01\x02")


def test_floats_come_back() -> None:
    assert np.array_equal(float_to_int16(int16_to_float(EVERY_SAMPLE)), EVERY_SAMPLE)
    assert int16_to_float(EVERY_SAMPLE).min() == -1.0


def test_floats_out_of_range_are_clipped_and_nan_is_silence() -> None:
    wild = np.array([2.0, -2.0, np.inf, -np.inf, np.nan], np.float32)
    assert float_to_int16(wild).tolist() == [32767, -32768, 32767, -32768, 0]


def test_mulaw_known_values() -> None:
    # Source: ITU-T G.711, table 2a, scaled to 16 bits.
    assert mulaw_to_int16(b"\x00\x80\xff\x7f").tolist() == [-32124, 32124, 0, 0]
    assert int16_to_mulaw(np.array([0, 32767, -32768], np.int16)) == b"\xff\x80\x00"


def test_every_mulaw_code_comes_back() -> None:
    codes = bytes(code for code in range(256) if code != 0x7F)  # 0x7f is a second zero
    assert int16_to_mulaw(mulaw_to_int16(codes)) == codes


def test_mulaw_keeps_every_sample_within_its_step() -> None:
    heard = mulaw_to_int16(int16_to_mulaw(EVERY_SAMPLE)).astype(np.int32)
    wide = EVERY_SAMPLE.astype(np.int32)
    assert np.all(np.abs(heard - wide) <= np.abs(wide) / 16 + 16)


@settings(deadline=None, max_examples=50)
@given(st.binary(max_size=400))
def test_any_bytes_make_finite_samples(data: bytes) -> None:
    even = data[: len(data) & ~1]
    assert np.isfinite(int16_to_float(linear16_to_int16(even))).all()
    assert len(mulaw_to_int16(data)) == len(data)
