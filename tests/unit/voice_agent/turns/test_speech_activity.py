import numpy as np

from tests.unit.voice_agent.turns.listening import LOUD, ScriptedVoice, silence, speech
from voice_agent.turns.speech_activity import WINDOW_SAMPLES, Heard, Pcm16, SpeechActivity


def heard(*pieces: Pcm16, step: int = 320) -> list[Heard]:
    audio = np.concatenate(pieces)
    activity = SpeechActivity(ScriptedVoice())
    return [h for at in range(0, len(audio), step) for h in activity.push(audio[at : at + step])]


def test_speech_begins_where_its_first_window_does() -> None:
    began = [h.began for h in heard(silence(4), speech(5)) if h.began is not None]
    assert began == [4 * WINDOW_SAMPLES]


def test_one_loud_window_alone_is_a_click() -> None:
    assert not any(h.speech for h in heard(silence(4), speech(1), silence(4)))


def test_what_may_be_speech_is_told_before_it_is_sure() -> None:
    class Doubtful(ScriptedVoice):
        """Is not sure of the first two windows."""

        def __init__(self) -> None:
            self._doubts = 2

        def predict(self, pcm: Pcm16) -> float:
            if super().predict(pcm) < 0.5:
                return 0.05
            self._doubts -= 1
            return 0.2 if self._doubts >= 0 else 0.9

    results = list(SpeechActivity(Doubtful()).push(np.concatenate((silence(2), speech(5)))))
    assert [h.may_begin for h in results] == [False, False, True, True, True, False, False]
    assert [h.began is not None for h in results] == [False] * 5 + [True, False]


def test_speech_ends_where_its_loudness_does_though_the_model_goes_on() -> None:
    class Slow(ScriptedVoice):
        """Says "speech" for three windows after it, as the real model does."""

        def __init__(self) -> None:
            self._left = 0

        def predict(self, pcm: Pcm16) -> float:
            self._left = 3 if super().predict(pcm) > 0.5 else self._left - 1
            return 0.6 if self._left >= 0 else 0.05

    activity = SpeechActivity(Slow())
    last = list(activity.push(np.concatenate((silence(4), speech(6), silence(6)))))[-1]
    assert last.speech_end == 10 * WINDOW_SAMPLES
    assert last.silence_s == 6 * WINDOW_SAMPLES / 16_000


def test_a_pause_inside_speech_needs_no_second_window_to_end() -> None:
    results = heard(silence(4), speech(6), silence(8), speech(1))
    assert results[-1].speech
    assert results[-1].began is None


def test_after_its_end_is_decided_speech_begins_anew() -> None:
    activity = SpeechActivity(ScriptedVoice())
    list(activity.push(np.concatenate((silence(4), speech(6), silence(8)))))
    activity.close_stretch()
    results = list(activity.push(speech(3)))
    assert [h.began for h in results] == [None, 18 * WINDOW_SAMPLES, None]


def test_the_pieces_in_which_audio_comes_do_not_matter() -> None:
    pieces = silence(4), speech(7), silence(5)
    assert heard(*pieces, step=320) == heard(*pieces, step=1001)


def test_a_noisy_line_is_silence_once_it_is_known() -> None:
    noise = np.random.default_rng(3).normal(0.0, LOUD / 8, 30 * WINDOW_SAMPLES).astype(np.int16)
    voice = speech(6)
    results = heard(noise.clip(-LOUD + 1, LOUD - 1), voice, noise.clip(-LOUD + 1, LOUD - 1))
    assert results[-1].speech_end == 36 * WINDOW_SAMPLES
