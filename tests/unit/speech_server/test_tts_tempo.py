import numpy as np
import pytest

from speech_server.tts.tempo import TempoChanger

RATE_HZ = 24_000


def tone(duration_s: float) -> np.ndarray:
    times = np.arange(round(duration_s * RATE_HZ)) / RATE_HZ
    return (8_000 * np.sin(2 * np.pi * 220 * times)).astype(np.int16)


def changed(pcm: np.ndarray, speed: float, pieces: int) -> np.ndarray:
    tempo = TempoChanger(RATE_HZ, speed)
    parts = [tempo.push(part) for part in np.array_split(pcm, pieces)]
    return np.concatenate([*parts, tempo.finish()])


@pytest.mark.parametrize("pieces", [1, 7, 24])
def test_the_voices_own_tempo_changes_nothing(pieces: int) -> None:
    assert np.array_equal(changed(tone(1.0), 1.0, pieces), tone(1.0))


@pytest.mark.parametrize("speed", [0.25, 0.4, 0.5, 0.8, 1.25, 2.0, 4.0])
@pytest.mark.parametrize("pieces", [1, 24])
def test_the_duration_changes_and_the_pitch_does_not(speed: float, pieces: int) -> None:
    pcm = changed(tone(2.0), speed, pieces)
    assert pcm.dtype == np.int16
    assert len(pcm) == pytest.approx(2.0 * RATE_HZ / speed, rel=0.05)
    spectrum = np.abs(np.fft.rfft(pcm * np.hanning(len(pcm))))
    assert np.argmax(spectrum) * RATE_HZ / len(pcm) == pytest.approx(220, abs=5)


def test_nothing_pushed_is_nothing() -> None:
    assert len(changed(np.zeros(0, dtype=np.int16), 2.0, 1)) == 0
