import numpy as np
import pytest
from faster_whisper.feature_extractor import FeatureExtractor

from speech_server.stt.whisper_features import Windows
from tests.spoken import speak


@pytest.mark.parametrize("samples", [800, 12_345, 31_999, 64_000])
@pytest.mark.parametrize("mel_bands", [80, 128])
def test_a_window_equals_the_spectrum_of_the_padded_audio(samples: int, mel_bands: int) -> None:
    extract = FeatureExtractor(feature_size=mel_bands)
    speech = speak("I would like to book an appointment on Tuesday at three thirty.", "rms")
    pcm = speech[:samples].astype(np.float32) / 32768
    samples = len(pcm)
    window = Windows(extract, 2.0).features(pcm, 4.0)
    whole = extract(np.pad(pcm, (0, 4 * 16_000 - samples)), padding=0)
    assert window.shape == (mel_bands, 400)
    np.testing.assert_allclose(window, whole, atol=1e-5)


def test_silence_has_a_spectrum() -> None:
    extract = FeatureExtractor()
    window = Windows(extract, 2.0).features(np.zeros(100, np.float32), 2.0)
    np.testing.assert_allclose(window, extract(np.zeros(32_000, np.float32), padding=0), atol=1e-5)


@pytest.mark.parametrize(
    ("shortest_s", "duration_s", "window_s"),
    [
        (2.0, 0.1, 2.0),
        (2.0, 1.7, 2.0),
        (2.0, 1.71, 4.0),
        (2.0, 9.8, 15.0),
        (10.0, 0.1, 10.0),
        (2.0, 29.9, 30.0),
        (30.0, 1.0, 30.0),
    ],
)
def test_the_window_is_the_shortest_step_that_holds_the_speech(
    shortest_s: float, duration_s: float, window_s: float
) -> None:
    windows = Windows(FeatureExtractor(), shortest_s)
    assert windows.fitting_s(round(duration_s * 16_000)) == window_s
