import numpy as np
import pytest
from livekit import rtc

from speech_plugins.model_rate import MODEL_RATE_HZ, ModelRateResampler

PITCH_HZ = 440
LEVEL = 8000
MOST_HELD_BACK_S = 0.003


def tone(rate_hz: int, channels: int = 1, duration_s: float = 1.0) -> np.ndarray:
    """A sine: int16, (samples, channels)."""
    at_s = np.arange(round(duration_s * rate_hz)) / rate_hz
    sine = LEVEL * np.sin(2 * np.pi * PITCH_HZ * at_s)
    return np.repeat(sine.astype(np.int16)[:, None], channels, axis=1)


def pushed(sound: np.ndarray, rate_hz: int, frame: int) -> list[np.ndarray]:
    """What comes for each frame of a sound."""
    rate, channels = ModelRateResampler(), sound.shape[1]
    return [
        np.frombuffer(
            rate.push(rtc.AudioFrame(part.tobytes(), rate_hz, channels, len(part))), np.int16
        )
        for part in (sound[at : at + frame] for at in range(0, len(sound), frame))
    ]


@pytest.mark.parametrize("rate_hz", [8_000, 16_000, 24_000, 44_100, 48_000])
@pytest.mark.parametrize("channels", [1, 2])
def test_next_to_nothing_is_held_back_and_nothing_moves(rate_hz: int, channels: int) -> None:
    frame = rate_hz // 50
    heard = pushed(tone(rate_hz, channels), rate_hz, frame)
    given_s = np.arange(1, len(heard) + 1) * frame / rate_hz
    held_back_s = given_s - np.cumsum([len(part) for part in heard]) / MODEL_RATE_HZ
    assert held_back_s.max() <= MOST_HELD_BACK_S
    sound = np.concatenate(heard)
    expected = tone(MODEL_RATE_HZ)[: len(sound), 0]
    edge = MODEL_RATE_HZ // 50  # where the tone begins out of nothing
    assert np.abs(sound - expected.astype(int))[edge:-edge].max() < 0.01 * LEVEL


def test_odd_frames_give_the_same_sound() -> None:
    sound = tone(24_000)
    whole = np.concatenate(pushed(sound, 24_000, 480))
    odd = np.concatenate(pushed(sound, 24_000, 7))
    common = min(len(whole), len(odd))
    assert abs(len(whole) - len(odd)) <= MOST_HELD_BACK_S * MODEL_RATE_HZ
    assert np.array_equal(whole[:common], odd[:common])


def test_what_is_at_the_rate_already_passes_through() -> None:
    sound = tone(MODEL_RATE_HZ)
    assert np.array_equal(np.concatenate(pushed(sound, MODEL_RATE_HZ, 320)), sound[:, 0])


def test_pitches_that_the_rate_cannot_hold_are_taken_out() -> None:
    at_s = np.arange(24_000) / 24_000
    high = (LEVEL * np.sin(2 * np.pi * 10_000 * at_s)).astype(np.int16)[:, None]
    heard = np.concatenate(pushed(high, 24_000, 480)).astype(float)
    assert np.abs(heard[320:-320]).max() < 0.001 * LEVEL


def test_more_than_two_channels_are_refused() -> None:
    with pytest.raises(ValueError, match="3 channels; give one or two"):
        ModelRateResampler().push(rtc.AudioFrame(bytes(3 * 2 * 480), 24_000, 3, 480))
