import numpy as np
import pytest

from tests.unit.voice_agent.turns.listening import LOUD, silence
from voice_agent.turns.onset import SpeechOnset
from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, Pcm16

HALF = WINDOW_SAMPLES // 2
BEFORE = silence(30)


class WholeWindows:
    """A voice activity model that knows speech only where it all but fills the window."""

    def __init__(self, asked: list["WholeWindows"]) -> None:
        self.windows: list[Pcm16] = []
        asked.append(self)

    def predict(self, pcm: Pcm16) -> float:
        self.windows.append(pcm)
        loud = np.abs(pcm.astype(int)).reshape(-1, 32).max(axis=1) >= LOUD // 2
        return 0.9 if loud.mean() >= 0.85 else 0.05


class Never(WholeWindows):
    def predict(self, pcm: Pcm16) -> float:
        super().predict(pcm)
        return 0.1


def tone(samples: int, hz: float, amplitude: int = LOUD) -> Pcm16:
    times = np.arange(samples) / RATE_HZ
    return (amplitude * np.cos(2 * np.pi * hz * times)).astype(np.int16)


def hiss(samples: int, amplitude: int = LOUD) -> Pcm16:
    return tone(samples, 6000, amplitude)


def sign_after(
    sound: Pcm16, *, begins: int, step: int = 64, asked: list[WholeWindows] | None = None
) -> int | None:
    """When there was the first sign, samples after the beginning of a sound."""
    models = [] if asked is None else asked
    audio = np.concatenate((BEFORE, silence(1)[:begins], sound))
    onset = SpeechOnset(lambda: WholeWindows(models))
    for at in range(0, len(audio), step):
        if onset.push(audio[at : at + step]):
            return at + step - len(BEFORE) - begins
    return None


@pytest.mark.parametrize("begins", range(0, WINDOW_SAMPLES, 48))
def test_a_hiss_is_known_a_window_after_it_began_wherever_that_is(begins: int) -> None:
    found = sign_after(hiss(2 * WINDOW_SAMPLES), begins=begins)
    assert found is not None
    assert 0 < found <= WINDOW_SAMPLES + 64


@pytest.mark.parametrize("step", [64, 320, 1001, 40_000])
def test_the_pieces_in_which_audio_comes_do_not_hide_a_hiss(step: int) -> None:
    assert sign_after(hiss(WINDOW_SAMPLES + 64), begins=100, step=step) is not None


def test_other_speech_is_known_from_the_window_between_that_it_fills() -> None:
    voice = tone(2 * WINDOW_SAMPLES, 1000)
    assert sign_after(voice, begins=HALF) == WINDOW_SAMPLES
    assert sign_after(voice, begins=HALF + 128) == 2 * WINDOW_SAMPLES - 128


def test_a_hum_is_no_sign_though_the_model_believes_it() -> None:
    # whole windows of it are left to the windows that are not between
    assert sign_after(tone(4 * WINDOW_SAMPLES, 100), begins=HALF) is None


def test_the_model_is_asked_about_a_hiss_after_what_came_before_it() -> None:
    asked: list[WholeWindows] = []
    sign_after(hiss(WINDOW_SAMPLES + 64), begins=100, asked=asked)
    _between, about = asked
    *earlier, window = about.windows
    assert len(earlier) == 8
    assert all(np.abs(pcm.astype(int)).max() < LOUD // 2 for pcm in earlier)
    assert np.abs(window[:128].astype(int)).max() >= LOUD // 2


@pytest.mark.parametrize(
    "sound",
    [
        np.random.default_rng(4).normal(0, LOUD, 2 * WINDOW_SAMPLES).astype(np.int16),
        tone(2 * WINDOW_SAMPLES, 1000),
        hiss(2 * WINDOW_SAMPLES, amplitude=40),
    ],
    ids=["noise", "voice", "barely audible hiss"],
)
def test_the_model_is_asked_about_nothing_else(sound: Pcm16) -> None:
    asked: list[WholeWindows] = []
    sign_after(sound, begins=100, asked=asked)
    assert len(asked) == 1


def test_a_hiss_that_the_model_does_not_take_for_speech_is_no_sign() -> None:
    asked: list[WholeWindows] = []
    onset = SpeechOnset(lambda: Never(asked))
    assert not onset.push(np.concatenate((BEFORE, hiss(2 * WINDOW_SAMPLES))))
    assert len(asked) > 1


def test_a_hiss_that_goes_on_is_a_beginning_once() -> None:
    asked: list[WholeWindows] = []
    onset = SpeechOnset(lambda: Never(asked))
    audio = np.concatenate((BEFORE, hiss(20 * WINDOW_SAMPLES)))
    for at in range(0, len(audio), 320):
        onset.push(audio[at : at + 320])
    assert len(asked) <= 3
