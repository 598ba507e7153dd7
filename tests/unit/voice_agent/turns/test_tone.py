import numpy as np
import pytest

from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Heard, Pcm16
from voice_agent.turns.tone import Tone, ToneOfVoice


def sung(*notes: tuple[float, float, float]) -> Pcm16:
    """Notes of (pitch in hertz, level of full scale, seconds) with the harmonics of a voice."""
    hertz = np.concatenate([np.full(round(s * RATE_HZ), f) for f, _, s in notes])
    level = np.concatenate([np.full(round(s * RATE_HZ), a) for _, a, s in notes])
    phase = 2 * np.pi * np.cumsum(hertz) / RATE_HZ
    voice = sum(np.sin(k * phase) / k for k in range(1, 6))
    return np.rint(level * voice / 2 * 2**15).astype(np.int16)


def tone_of(audio: Pcm16) -> Tone | None:
    voice = ToneOfVoice()
    for at in range(0, len(audio) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES):
        end = at + WINDOW_SAMPLES
        voice.hear(Heard(end, True, None, end, audio[at:end]))
    return voice.tone()


def test_a_voice_that_sinks_and_fades_is_told_from_one_that_stays() -> None:
    sinks = tone_of(sung((140, 0.2, 0.6), (160, 0.2, 0.6), (110, 0.05, 0.2)))
    stays = tone_of(sung((110, 0.2, 0.4), (140, 0.2, 0.6), (160, 0.2, 0.3)))
    assert sinks is not None
    assert stays is not None
    assert sinks.pitch < 0.5
    assert sinks.fade_db > 6
    assert stays.pitch > 4
    assert abs(stays.fade_db) < 1


def test_pitch_is_measured_in_semitones_above_the_bottom() -> None:
    tone = tone_of(sung((120, 0.2, 1.0), (120 * 2 ** (4 / 12), 0.2, 0.3)))
    assert tone is not None
    assert tone.pitch == pytest.approx(4.0, abs=0.3)


def test_little_voice_tells_nothing() -> None:
    assert tone_of(sung((120, 0.2, 0.1))) is None


def test_noise_has_no_pitch() -> None:
    noise = np.random.default_rng(5).normal(0.0, 3000.0, RATE_HZ).astype(np.int16)
    assert tone_of(noise) is None


def test_silence_between_is_no_part_of_the_voice() -> None:
    voice = ToneOfVoice()
    audio = sung((120, 0.2, 1.0))
    for at in range(0, len(audio) - WINDOW_SAMPLES + 1, WINDOW_SAMPLES):
        end = at + WINDOW_SAMPLES
        voice.hear(Heard(end, True, None, end, audio[at:end]))
    before = voice.tone()
    for _ in range(20):
        end += WINDOW_SAMPLES
        voice.hear(Heard(end, False, None, end, np.zeros(WINDOW_SAMPLES, np.int16)))
    assert voice.tone() == before
