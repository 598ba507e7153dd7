"""Every WAV that people have, and every one that cannot be spoken."""

import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voice_agent.caller.errors import BadInput
from voice_agent.caller.sound import RATE_HZ
from voice_agent.caller.wav import EXPECTED, MAX_FILE_BYTES, load_utterance

PCM, FLOAT, EXTENSIBLE, MU_LAW = 1, 3, 0xFFFE, 7


def chunk(name: bytes, body: bytes, size: int | None = None) -> bytes:
    padding = b"\0" * (len(body) % 2)
    return name + struct.pack("<I", len(body) if size is None else size) + body + padding


def fmt(rate_hz: int, bits: int, channels: int, tag: int = PCM, real_tag: int = PCM) -> bytes:
    frame_bytes = channels * bits // 8
    body = struct.pack("<HHIIHH", tag, channels, rate_hz, rate_hz * frame_bytes, frame_bytes, bits)
    if tag == EXTENSIBLE:
        body += struct.pack("<HHIH", 22, bits, 0, real_tag) + b"\0" * 14
    return chunk(b"fmt ", body)


def riff(*chunks: bytes) -> bytes:
    body = b"WAVE" + b"".join(chunks)
    return b"RIFF" + struct.pack("<I", len(body)) + body


def tone(rate_hz: int, duration_s: float = 0.5) -> np.ndarray:
    """A half-scale tone in [-1, 1]."""
    times = np.arange(round(rate_hz * duration_s)) / rate_hz
    return 0.5 * np.sin(2 * np.pi * 440 * times)


def encode(samples: np.ndarray, bits: int) -> bytes:
    if bits == 8:
        return (samples * 127 + 128).astype(np.uint8).tobytes()
    wide = (samples * (2**31 - 1)).astype("<i4")
    return wide.view(np.uint8).reshape(-1, 4)[:, 4 - bits // 8 :].tobytes()


@pytest.fixture
def wav(tmp_path: Path) -> Path:
    return tmp_path / "speech.wav"


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
def test_any_width_and_rate_becomes_the_same_sound(wav: Path, bits: int, rate_hz: int) -> None:
    wav.write_bytes(riff(fmt(rate_hz, bits, 1), chunk(b"data", encode(tone(rate_hz), bits))))
    utterance = load_utterance(wav)
    assert utterance.samples.dtype == np.int16
    assert utterance.duration_s == pytest.approx(0.5, abs=0.001)
    middle = utterance.samples[RATE_HZ // 10 : -RATE_HZ // 10]
    expected = tone(RATE_HZ)[RATE_HZ // 10 : -RATE_HZ // 10] * 2**15
    assert np.abs(middle - expected).max() < 2**15 * 0.02


def test_stereo_is_mixed(wav: Path) -> None:
    left = tone(RATE_HZ)
    stereo = np.stack([left, np.zeros_like(left)], axis=1).ravel()
    wav.write_bytes(riff(fmt(RATE_HZ, 16, 2), chunk(b"data", encode(stereo, 16))))
    samples = load_utterance(wav).samples
    assert np.abs(samples - left / 2 * 2**15).max() <= 1


def test_extensible_float_and_unknown_chunks_are_read(wav: Path) -> None:
    extensible = riff(
        chunk(b"LIST", b"odd"),
        fmt(RATE_HZ, 24, 1, tag=EXTENSIBLE),
        chunk(b"data", encode(tone(RATE_HZ), 24)),
    )
    floats = riff(
        fmt(RATE_HZ, 32, 1, tag=FLOAT), chunk(b"data", tone(RATE_HZ).astype("<f4").tobytes())
    )
    wav.write_bytes(extensible)
    from_extensible = load_utterance(wav).samples
    wav.write_bytes(floats)
    assert np.abs(load_utterance(wav).samples - from_extensible.astype(int)).max() <= 1


@pytest.mark.parametrize("size", [0x7FFF_F000, 0xFFFF_FFFF])
def test_a_length_written_to_a_pipe_means_to_the_end(wav: Path, size: int) -> None:
    data = chunk(b"data", encode(tone(RATE_HZ), 16), size)
    wav.write_bytes(riff(fmt(RATE_HZ, 16, 1), data))
    assert load_utterance(wav).duration_s == pytest.approx(0.5)


def test_end_of_speech_is_the_last_audible_sample(wav: Path) -> None:
    samples = np.zeros(RATE_HZ, "<i2")
    samples[1000] = 5000
    samples[4321] = -251
    samples[5000] = 250
    wav.write_bytes(riff(fmt(RATE_HZ, 16, 1), chunk(b"data", samples.tobytes())))
    assert load_utterance(wav).last_audible == 4321


def test_words_come_from_the_text_beside_it(wav: Path) -> None:
    wav.write_bytes(riff(fmt(RATE_HZ, 16, 1), chunk(b"data", encode(tone(RATE_HZ), 16))))
    assert load_utterance(wav).text == "speech.wav"
    wav.with_suffix(".txt").write_text("When is my appointment?\n")
    assert load_utterance(wav).text == "When is my appointment?"
    wav.with_suffix(".txt").write_text("\n")
    assert load_utterance(wav).text == "speech.wav"


def speech(bits: int = 16, channels: int = 1, rate_hz: int = 16_000, tag: int = PCM) -> bytes:
    return riff(fmt(rate_hz, bits, channels, tag), chunk(b"data", b"\x40" * 9600))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b"ID3 this is an MP3", "not a WAV file"),
        (b"RIFF\0\0\0\0AVI LIST", "not a WAV file"),
        (speech()[:20], "format is cut off"),
        (speech()[:12], "holds no samples"),
        (speech()[:-10], "cut off: 9600 bytes announced, 9590 there"),
        (riff(chunk(b"data", b"\x40" * 10)), "samples come before their format"),
        (riff(fmt(16_000, 16, 1)), "holds no samples"),
        (riff(fmt(16_000, 16, 1), chunk(b"data", b"")), "holds no samples"),
        (riff(chunk(b"fmt ", b"\x01\0")), "format is cut off"),
        (speech(tag=MU_LAW), "compressed (WAV format 7)"),
        (speech(bits=12), "12-bit samples"),
        (speech(bits=64, tag=FLOAT), "64-bit float samples"),
        (speech(channels=0), "0 channels"),
        (speech(channels=9), "9 channels"),
        (speech(rate_hz=4000), "4000 samples a second"),
        (speech(rate_hz=0), "0 samples a second"),
        (riff(fmt(16_000, 16, 1), chunk(b"data", bytes(32_000))), "is silent"),
        (riff(fmt(8_000, 8, 1), chunk(b"data", bytes(8_000 * 61))), "lasts 61 seconds"),
    ],
)
def test_what_cannot_be_spoken_is_refused_with_the_reason(
    wav: Path, content: bytes, reason: str
) -> None:
    wav.write_bytes(content)
    with pytest.raises(BadInput) as error:
        load_utterance(wav)
    assert reason in error.value.message
    assert str(wav) in error.value.message
    assert EXPECTED in error.value.message


def test_a_missing_file_a_folder_and_a_huge_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        load_utterance(tmp_path / "missing.wav")
    with pytest.raises(BadInput, match="cannot be read"):
        load_utterance(tmp_path)
    huge = tmp_path / "huge.wav"
    with huge.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)  # sparse: takes no space
    with pytest.raises(BadInput, match="larger than 64 MiB"):
        load_utterance(huge)


def test_not_a_number_is_no_sound(wav: Path) -> None:
    broken = np.array([np.nan, np.inf, -np.inf, 0.5] * 100, "<f4").tobytes()
    wav.write_bytes(riff(fmt(RATE_HZ, 32, 1, tag=FLOAT), chunk(b"data", broken)))
    samples = load_utterance(wav).samples
    assert list(samples[:4]) == [0, 2**15 - 1, -(2**15), 2**14]


@given(junk=st.binary(max_size=200), cut=st.integers(0, 80))
def test_damage_anywhere_is_an_utterance_or_a_clear_refusal(
    tmp_path_factory: pytest.TempPathFactory, junk: bytes, cut: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.wav"
    path.write_bytes(speech()[:cut] + junk + speech()[cut:])
    try:
        utterance = load_utterance(path)
    except BadInput:
        return  # any other exception fails the test
    assert 0 <= utterance.last_audible < len(utterance.samples)
