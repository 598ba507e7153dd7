"""Audio encoders, checked by decoding with libav."""

import io

import av
import numpy as np
import pytest

from speech_server.audio.encode import (
    Container,
    ContainerEncoder,
    RawEncoder,
    RawEncoding,
    WavEncoder,
    int16_to_alaw,
)

RATE_HZ = 24_000


def tone(seconds: float = 1.0, rate_hz: int = RATE_HZ) -> np.ndarray:
    time_s = np.arange(round(seconds * rate_hz)) / rate_hz
    return (8_000 * np.sin(2 * np.pi * 440 * time_s)).astype(np.int16)


def decode(data: bytes, **options: str) -> np.ndarray:
    format_name = options.pop("format", None)
    with av.open(io.BytesIO(data), format=format_name, options=options) as container:
        rate = container.streams.audio[0].rate
        to_int16 = av.AudioResampler(format="s16", layout="mono", rate=rate)
        frames = [f for frame in container.decode(audio=0) for f in to_int16.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames])


def frequency(pcm: np.ndarray, rate_hz: int) -> float:
    spectrum = np.abs(np.fft.rfft(pcm.astype(np.float64)))
    return float(np.argmax(spectrum) * rate_hz / len(pcm))


@pytest.mark.parametrize("container", ["mp3", "opus", "aac", "flac"])
@pytest.mark.parametrize("step", [1, 333, 960, 24_000])
def test_containers_hold_the_tone(container: Container, step: int) -> None:
    encoder = ContainerEncoder(container, RATE_HZ)
    pcm = tone(0.5 if step == 1 else 1.0)
    data = b"".join(encoder.encode(pcm[at : at + step]) for at in range(0, len(pcm), step))
    decoded = decode(data + encoder.finish())
    rate_hz = 48_000 if container == "opus" else RATE_HZ  # libav always decodes Opus at 48 kHz
    expected = len(pcm) * rate_hz // RATE_HZ
    assert expected <= len(decoded) <= expected + 0.1 * rate_hz
    assert frequency(decoded[:expected], rate_hz) == pytest.approx(440, abs=5)
    if container == "flac":
        assert np.array_equal(decoded, pcm)


@pytest.mark.parametrize("container", ["mp3", "opus", "aac", "flac"])
def test_containers_stream(container: Container) -> None:
    encoder = ContainerEncoder(container, RATE_HZ)
    sizes = [len(encoder.encode(tone(0.04))) for _ in range(25)]
    # A tenth of a second in, bytes have come; they go on coming.
    assert sum(sizes[:6]) > 0
    assert sum(1 for size in sizes if size) >= 5


@pytest.mark.parametrize("container", ["mp3", "opus", "aac", "flac"])
def test_empty_audio_still_makes_a_closed_stream(container: Container) -> None:
    encoder = ContainerEncoder(container, RATE_HZ)
    assert encoder.encode(np.zeros(0, dtype=np.int16)) == b""
    assert isinstance(encoder.finish(), bytes)


def test_bit_rate_is_kept() -> None:
    sizes = []
    for bit_rate in (32_000, 128_000):
        encoder = ContainerEncoder("mp3", 44_100, bit_rate)
        sizes.append(len(encoder.encode(tone(2.0, 44_100)) + encoder.finish()))
    assert sizes[1] > 3 * sizes[0]


@pytest.mark.parametrize(("container", "rate_hz"), [("opus", 22_050), ("mp3", 47_999)])
def test_a_rate_that_the_codec_has_not(container: Container, rate_hz: int) -> None:
    with pytest.raises(ValueError, match=f"{container}: cannot be made at {rate_hz} Hz"):
        ContainerEncoder(container, rate_hz)


@pytest.mark.parametrize("encoding", ["pcm_s16le", "pcm_f32le", "pcm_mulaw", "pcm_alaw"])
def test_wav_of_unknown_length_is_read_to_its_end(encoding: RawEncoding) -> None:
    encoder = WavEncoder(encoding, RATE_HZ)
    pcm = tone()
    data = encoder.encode(pcm[:1_000]) + encoder.encode(pcm[1_000:]) + encoder.finish()
    decoded = decode(data)
    assert len(decoded) == len(pcm)
    assert np.abs(decoded.astype(int) - pcm).max() <= (300 if encoding.endswith("law") else 1)


def test_wav_without_samples_has_a_header() -> None:
    encoder = WavEncoder("pcm_s16le", RATE_HZ)
    assert encoder.finish()[:4] == b"RIFF"


def test_raw_linear_and_float() -> None:
    pcm = np.array([-32_768, -1, 0, 1, 32_767], dtype=np.int16)
    assert RawEncoder("pcm_s16le").encode(pcm) == pcm.tobytes()
    floats = np.frombuffer(RawEncoder("pcm_f32le").encode(pcm), "<f4")
    assert np.array_equal(floats, pcm.astype(np.float32) / 32_768)


def test_alaw_is_libavs_alaw() -> None:
    every = np.arange(-32_768, 32_768).astype(np.int16)
    decoded = decode(int16_to_alaw(every), format="alaw", sample_rate="8000")
    # Half a step of the companding at this loudness, and 8 at the quietest.
    error = np.abs(decoded.astype(int) - every)
    assert (error <= np.maximum(np.abs(every.astype(int)) / 31, 8)).all()
    assert np.array_equal(np.sign(decoded), np.where(every >= 0, 1, -1))
