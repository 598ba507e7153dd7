import wave
from pathlib import Path

import numpy as np
import pytest

from bench.stt.recordings import BadRecording, read_recordings, silent_frames


def write(path: Path, samples: int, rate_hz: int = 16_000, channels: int = 1) -> None:
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate_hz)
        file.writeframes(np.full(samples * channels, 1000, "<i2").tobytes())


def test_a_folder_is_read_in_whole_frames(tmp_path: Path) -> None:
    write(tmp_path / "b.wav", 16_100)
    write(tmp_path / "a.wav", 8_000, rate_hz=8_000)
    (tmp_path / "a.txt").write_text("Hello.\n")
    (tmp_path / "b.txt").write_text("Goodbye.")
    first, second = read_recordings(tmp_path)
    assert (first.name, first.text, first.duration_s) == ("a", "Hello.", 1.0)
    assert second.duration_s == pytest.approx(1.02)
    assert {len(frame) for frame in (*first.frames, *second.frames)} == {640}
    assert second.pcm[: 2 * 16_100] == np.full(16_100, 1000, "<i2").tobytes()


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadRecording, match=r"no \.wav"):
        read_recordings(tmp_path)


def test_missing_words_are_named(tmp_path: Path) -> None:
    write(tmp_path / "a.wav", 16_000)
    with pytest.raises(BadRecording, match=r"a\.txt"):
        read_recordings(tmp_path)


@pytest.mark.parametrize(
    ("samples", "channels", "why"),
    [(16_000, 2, "2 channels"), (0, 1, "0.00 s"), (31 * 16_000, 1, "31.00 s")],
)
def test_unusable_audio_is_named(tmp_path: Path, samples: int, channels: int, why: str) -> None:
    write(tmp_path / "a.wav", samples, channels=channels)
    (tmp_path / "a.txt").write_text("Hello.")
    with pytest.raises(BadRecording, match=why):
        read_recordings(tmp_path)


def test_what_is_no_wav_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    (tmp_path / "a.txt").write_text("Hello.")
    with pytest.raises(BadRecording, match=r"a\.wav"):
        read_recordings(tmp_path)


def test_silence_is_not_digital_silence() -> None:
    frames = silent_frames(0.1)
    assert len(frames) == 5
    assert all(any(frame) for frame in frames)
