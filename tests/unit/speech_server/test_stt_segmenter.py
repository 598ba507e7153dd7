from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.utterance import (
    Close,
    Closed,
    Event,
    Interim,
    Preflight,
    SilenceAfterSpeech,
    SpeechStarted,
    UtteranceAudio,
)
from speech_server.stt.vad import WINDOW_SAMPLES, SileroVoiceActivity
from tests.spoken import silence, speak

RATE_HZ = 16_000
Pcm = npt.NDArray[np.float32]


class LoudIsSpeech:
    """A voice activity model that hears a tone as speech, with a hang-over like the real one."""

    def __init__(self, hang_over_windows: int = 2) -> None:
        self._hang_over_windows = hang_over_windows
        self._left = 0

    def probability(self, window: Pcm) -> float:
        if np.abs(window).max() > 0.1:
            self._left = self._hang_over_windows
            return 0.9
        self._left -= 1
        return 0.6 if self._left >= 0 else 0.02


def tone(duration_s: float) -> Pcm:
    return np.full(round(duration_s * RATE_HZ), 0.5, dtype=np.float32)


def quiet(duration_s: float) -> Pcm:
    return np.full(round(duration_s * RATE_HZ), 1e-5, dtype=np.float32)


def segmenter(**asked: float | None) -> Segmenter:
    return Segmenter(LoudIsSpeech(), SegmenterSettings(**asked))  # type: ignore[arg-type]


def of_kind(events: list[Event], kind: type) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def test_silence_makes_nothing() -> None:
    assert segmenter(endpointing_s=0.2, utterance_end_s=1.0).push(quiet(5)) == []


def test_an_utterance_ends_after_the_asked_silence() -> None:
    cutter = segmenter(endpointing_s=0.3, preflight_silence_s=None, interim_interval_s=None)
    events = cutter.push(np.concatenate((quiet(0.64), tone(1.024), quiet(1.024))))
    started, closed = events
    assert isinstance(started, SpeechStarted)
    assert started.at == round(0.64 * RATE_HZ)
    assert isinstance(closed, Closed)
    assert closed.reason is Close.ENDPOINT
    assert closed.audio.revision.speech_end == round(1.664 * RATE_HZ)
    assert 0.3 <= closed.audio.end / RATE_HZ - 1.664 < 0.3 + 0.032


def test_preroll_is_at_most_100_ms() -> None:
    cutter = segmenter(endpointing_s=0.3)
    closed = cutter.push(np.concatenate((quiet(1.024), tone(0.512), quiet(0.6))))[-1]
    assert isinstance(closed, Closed)
    lead = np.flatnonzero(closed.audio.pcm > 0.1)[0]
    assert 0.06 * RATE_HZ < lead <= 0.1 * RATE_HZ
    assert closed.audio.start == round(1.024 * RATE_HZ) - lead


def test_a_click_is_no_speech() -> None:
    cutter = Segmenter(LoudIsSpeech(hang_over_windows=0), SegmenterSettings(endpointing_s=0.2))
    assert cutter.push(np.concatenate((quiet(0.32), tone(0.02), quiet(0.5)))) == []


def test_preflight_comes_early_and_once_a_pause() -> None:
    cutter = segmenter(preflight_silence_s=0.06, interim_interval_s=None)
    events = cutter.push(np.concatenate((tone(0.512), quiet(0.4), tone(0.512), quiet(2))))
    first, second = of_kind(events, Preflight)
    assert isinstance(first, Preflight)
    assert isinstance(second, Preflight)
    assert 0.06 <= first.audio.end / RATE_HZ - 0.512 <= 0.06 + 0.032
    assert second.audio.revision.speech_end > first.audio.revision.speech_end
    assert second.audio.revision.utterance == first.audio.revision.utterance


def in_frames(cutter: Segmenter, pcm: Pcm) -> list[list[Event]]:
    """What each frame of 20 ms makes, as a caller's come."""
    frame = RATE_HZ // 50
    return [cutter.push(pcm[at : at + frame]) for at in range(0, len(pcm), frame)]


def test_a_preflight_does_not_wait_for_the_rest_of_a_window() -> None:
    cutter = segmenter(preflight_silence_s=0.03, interim_interval_s=None)
    made = in_frames(cutter, np.concatenate((tone(0.52), quiet(1.0))))
    (frame,) = [index for index, events in enumerate(made) if of_kind(events, Preflight)]
    (preflight,) = made[frame]
    assert isinstance(preflight, Preflight)
    assert frame == 27  # the second one of silence; the window ends in the third
    assert preflight.audio.end == 28 * RATE_HZ // 50
    assert len(preflight.audio.pcm) == preflight.audio.end - preflight.audio.start
    (closed,) = cutter.finalize()
    assert isinstance(closed, Closed)
    assert closed.audio.revision == preflight.audio.revision


def test_a_word_that_goes_on_within_the_window_is_no_pause() -> None:
    cutter = segmenter(preflight_silence_s=0.03, interim_interval_s=None)
    made = in_frames(cutter, np.concatenate((tone(0.52), quiet(0.02), tone(0.3))))
    assert not any(of_kind(events, Preflight) for events in made)


def test_interims_come_while_speaking_and_grow_rarer() -> None:
    cutter = segmenter(interim_interval_s=0.5, max_utterance_s=60)
    ends = [e.audio.end for e in cutter.push(tone(25)) if isinstance(e, Interim)]
    gaps_s = np.diff(ends) / RATE_HZ
    assert gaps_s[0] == pytest.approx(0.512)
    assert gaps_s[-1] > 2
    assert np.all(np.diff(gaps_s) >= -1e-9)


def test_no_interims_in_silence() -> None:
    cutter = segmenter(interim_interval_s=0.1, preflight_silence_s=None)
    events = cutter.push(np.concatenate((tone(0.32), quiet(3))))
    assert all(e.audio.end < 0.5 * RATE_HZ for e in events if isinstance(e, Interim))


def test_finalize_takes_all_and_leaves_nothing() -> None:
    cutter = segmenter(preflight_silence_s=None, interim_interval_s=None)
    cutter.push(np.concatenate((tone(1.0), quiet(0.1))))
    (first,) = cutter.finalize()
    (second,) = cutter.finalize()
    assert isinstance(first, Closed)
    assert first.audio.end == cutter.position
    assert first.reason is Close.FINALIZE
    assert (first.audio.pcm > 0.1).sum() == RATE_HZ
    assert isinstance(second, Closed)
    assert not second.audio.pcm.size


def test_finalize_reads_the_last_part_of_a_window() -> None:
    cutter = segmenter(preflight_silence_s=None, interim_interval_s=None)
    cutter.push(tone(0.5))  # 15 windows and 320 samples
    (closed,) = cutter.finalize()
    assert isinstance(closed, Closed)
    assert len(closed.audio.pcm) == RATE_HZ // 2
    assert closed.audio.revision.speech_end == RATE_HZ // 2


def test_a_revision_stays_while_nothing_is_said() -> None:
    cutter = segmenter(interim_interval_s=None)
    (_, preflight) = cutter.push(np.concatenate((tone(0.512), quiet(0.128))))
    cutter.push(quiet(0.7))
    assert isinstance(preflight, Preflight)
    (closed,) = cutter.finalize()
    assert isinstance(closed, Closed)
    assert closed.audio.revision == preflight.audio.revision


def test_long_pauses_are_left_out_and_times_stay_true() -> None:
    cutter = segmenter(preflight_silence_s=None, interim_interval_s=None)
    cutter.push(np.concatenate((tone(0.512), quiet(6.4), tone(0.512))))
    (closed,) = cutter.finalize()
    assert isinstance(closed, Closed)
    audio = closed.audio
    assert len(audio.pcm) < 1.6 * RATE_HZ
    spoken = np.flatnonzero(audio.pcm > 0.1)
    assert len(spoken) == round(1.024 * RATE_HZ)
    assert audio.stream_s(spoken[0] / RATE_HZ) == pytest.approx(0.0)
    assert audio.stream_s(spoken[-1] / RATE_HZ) == pytest.approx(7.424, abs=1e-3)


def test_an_endless_talker_is_cut_without_losing_a_sample() -> None:
    cutter = segmenter(max_utterance_s=3.0, preflight_silence_s=None, interim_interval_s=None)
    events = cutter.push(tone(10.24))
    events += cutter.finalize(Close.END_OF_STREAM)
    pieces = [event for event in events if isinstance(event, Closed)]
    assert len(pieces) > 3
    assert all(piece.reason is Close.LIMIT for piece in pieces[:-1])
    assert all(len(piece.audio.pcm) <= 3.0 * RATE_HZ + WINDOW_SAMPLES for piece in pieces)
    assert sum(len(piece.audio.pcm) for piece in pieces) == round(10.24 * RATE_HZ)


def test_an_endless_talker_is_cut_in_the_quietest_place() -> None:
    cutter = segmenter(max_utterance_s=3.0, preflight_silence_s=None, interim_interval_s=None)
    events = cutter.push(np.concatenate((tone(1.92), quiet(0.128), tone(2.048))))
    events += cutter.finalize(Close.END_OF_STREAM)
    first, second = (event.audio for event in events if isinstance(event, Closed))
    assert 1.92 * RATE_HZ <= first.end <= 2.048 * RATE_HZ
    assert second.start == first.end
    starts = [event.at for event in events if isinstance(event, SpeechStarted)]
    assert starts == [0, second.start]


def test_speech_is_never_said_to_begin_before_the_stream() -> None:
    cutter = segmenter()
    assert cutter.push(tone(1.0)[:100]) == []
    cutter.finalize()  # one window of speech, and not a whole one
    (started, *_) = cutter.push(tone(1.0)[:1024])
    assert started == SpeechStarted(0)


def test_near_the_limit_a_pause_is_where_to_cut() -> None:
    cutter = segmenter(max_utterance_s=3.0, preflight_silence_s=0.1, interim_interval_s=None)
    events = cutter.push(np.concatenate((tone(2.56), quiet(0.3), tone(1))))
    (cut,) = of_kind(events, Closed)
    assert isinstance(cut, Closed)
    assert cut.reason is Close.LIMIT
    assert cut.audio.revision.speech_end == round(2.56 * RATE_HZ)


def test_silence_after_speech_is_told_once() -> None:
    cutter = segmenter(endpointing_s=0.2, utterance_end_s=1.0)
    events = cutter.push(np.concatenate((tone(0.512), quiet(5))))
    (told,) = of_kind(events, SilenceAfterSpeech)
    assert isinstance(told, SilenceAfterSpeech)
    assert told.speech_end == 0.512 * RATE_HZ
    assert isinstance(events[-1], SilenceAfterSpeech)


def test_stream_time_without_anchors_counts_from_the_start() -> None:
    cutter = segmenter()
    (closed,) = cutter.finalize()
    assert isinstance(closed, Closed)
    assert closed.audio.stream_s(1.5) == 1.5


@settings(deadline=None, max_examples=50)
@given(cuts=st.lists(st.integers(0, 40_000), max_size=20))
def test_how_audio_is_cut_into_pieces_changes_nothing(cuts: list[int]) -> None:
    audio = np.concatenate((quiet(0.3), tone(0.7), quiet(0.5), tone(0.4), quiet(0.6)))
    whole = _shape(segmenter(endpointing_s=0.3).push(audio))
    pieces = segmenter(endpointing_s=0.3)
    events: list[Event] = []
    bounds = [0, *sorted(cuts), len(audio)]
    for begin, end in pairwise(bounds):
        events += pieces.push(audio[begin:end])
    assert _shape(events) == whole


def _shape(events: list[Event]) -> list[tuple[str, int, int]]:
    shapes = []
    for event in events:
        audio = getattr(event, "audio", None)
        if isinstance(audio, UtteranceAudio):
            shapes.append((type(event).__name__, audio.start, len(audio.pcm)))
        else:
            shapes.append((type(event).__name__, getattr(event, "at", 0), 0))
    return shapes


def test_real_speech_with_the_real_model() -> None:
    cutter = Segmenter(SileroVoiceActivity(), SegmenterSettings(endpointing_s=0.3))
    sentence = speak("What are your opening hours?", "rms")
    audio = np.concatenate((silence(0.7), sentence, silence(1.0))).astype(np.float32) / 32768
    events = cutter.push(audio)
    (started,) = of_kind(events, SpeechStarted)
    (closed,) = of_kind(events, Closed)
    assert isinstance(started, SpeechStarted)
    assert isinstance(closed, Closed)
    assert started.at / RATE_HZ == pytest.approx(0.7, abs=0.1)
    spoken_until_s = 0.7 + len(sentence) / RATE_HZ
    assert closed.audio.revision.speech_end / RATE_HZ == pytest.approx(spoken_until_s, abs=0.05)


@pytest.mark.parametrize("snr_db", [40, 20, 15, 10])
def test_the_end_of_speech_is_found_on_a_noisy_line(snr_db: int) -> None:
    sentence = speak("What are your opening hours?", "rms").astype(np.float32) / 32768
    level = float(np.sqrt(np.square(sentence).mean()))
    audio = np.concatenate((np.zeros(11_200), sentence, np.zeros(16_000)))
    noise = np.random.default_rng(3).normal(0, level * 10 ** (-snr_db / 20), len(audio))
    cutter = Segmenter(SileroVoiceActivity(), SegmenterSettings(endpointing_s=0.3))
    (closed,) = of_kind(cutter.push((audio + noise).astype(np.float32)), Closed)
    assert isinstance(closed, Closed)
    late_s = closed.audio.revision.speech_end / RATE_HZ - (0.7 + len(sentence) / RATE_HZ)
    assert abs(late_s) < 0.08
