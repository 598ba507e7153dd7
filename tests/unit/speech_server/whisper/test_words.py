"""Words that the Whisper engine hears: of one caller, of many at once, of a long speech."""

import numpy as np
import pytest

from speech_server.stt import whisper
from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine
from tests.spoken import silence, speak
from tests.unit.speech_server.micro_whisper import (
    BOOK,
    BYE,
    CANCEL,
    HUMAN,
    NAME,
    OPENING,
    SLOT,
    WHEN,
    heard,
    loaded_engine,
    samples,
    spoken,
)

CALLERS = [
    (OPENING, "rms"), (WHEN, "slt"), (BOOK, "rms"), (NAME, "slt"), (BYE, "rms"), (SLOT, "slt"),
]  # fmt: skip


def test_what_it_can_do_is_known_once_loaded(engine: WhisperEngine) -> None:
    assert engine.info.name == "whisper"
    assert engine.info.model == "model"
    assert {"en", "de", "jv"} <= set(engine.info.languages)
    assert engine.info.max_batch_size == 8
    assert engine.info.word_times is False


@pytest.mark.parametrize(("text", "voice"), CALLERS)
def test_it_hears_words(engine: WhisperEngine, text: str, voice: str) -> None:
    (result,) = engine.transcribe([Utterance(spoken(text, voice))])
    assert isinstance(result, Transcript)
    assert result.text == text
    assert result.language == "en"
    assert result.words is None
    assert result.confidence is not None
    assert 0.5 < result.confidence <= 1.0


def test_different_callers_in_one_batch_are_heard_as_if_alone(engine: WhisperEngine) -> None:
    assert heard(engine, *(spoken(*caller) for caller in CALLERS)) == [t for t, _ in CALLERS]


@pytest.mark.parametrize("lead_s", [0.0, 0.3, 0.6, 1.0])
def test_silence_in_front_changes_nothing(engine: WhisperEngine, lead_s: float) -> None:
    assert heard(engine, spoken(WHEN, lead_s=lead_s)) == [WHEN]


@pytest.mark.parametrize("window_s", [4.0, 10.0, 30.0])
def test_every_window_gives_the_same_words(window_s: float) -> None:
    engine = loaded_engine(shortest_window_s=window_s)
    assert heard(engine, spoken(OPENING), spoken(CANCEL, "slt")) == [OPENING, CANCEL]
    engine.close()


def test_callers_of_one_window_share_one_call(
    engine: WhisperEngine, model_calls: list[tuple[int, float]]
) -> None:
    heard(engine, *[spoken(WHEN)] * 3, spoken(BOOK), *[spoken(NAME, trail_s=0.4)] * 2)
    assert sorted(model_calls) == [(1, 6.0), (5, 4.0)]


def test_a_call_holds_no_more_than_the_batch_size(model_calls: list[tuple[int, float]]) -> None:
    engine = loaded_engine(max_batch_size=2)
    model_calls.clear()
    assert heard(engine, *[spoken(WHEN)] * 5) == [WHEN] * 5
    assert model_calls == [(2, 4.0), (2, 4.0), (1, 4.0)]
    engine.close()


def test_long_audio_is_read_whole_and_nothing_twice(
    engine: WhisperEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The micro Whisper reads two sentences in a row, not the ten that fit a full window.
    monkeypatch.setattr(whisper, "_LONGEST_PIECE_S", 5.0)
    monkeypatch.setattr(whisper, "_CUT_SEARCH_S", 3.0)
    texts = [OPENING, BOOK, WHEN, SLOT, NAME, CANCEL, HUMAN, BYE] * 2
    pcm = samples(*(part for text in texts for part in (speak(text, "rms"), silence(0.7))))
    first, second, third = heard(engine, spoken(WHEN), pcm, spoken(NAME))
    assert (first, second, third) == (WHEN, " ".join(texts), NAME)


def test_audio_longer_than_a_window_is_read_in_full_windows(
    engine: WhisperEngine, model_calls: list[tuple[int, float]]
) -> None:
    pcm = samples(*[part for _ in range(20) for part in (speak(BOOK, "rms"), silence(0.5))])
    assert 2 * 29.5 < len(pcm) / 16_000 < 3 * 29.5
    engine.transcribe([Utterance(pcm)])
    assert (3, 30.0) in model_calls


def test_words_carry_their_times() -> None:
    engine = loaded_engine(word_times=True)
    assert engine.info.word_times
    (result, nothing) = engine.transcribe([
        Utterance(spoken(WHEN, lead_s=0.5)),
        Utterance(np.zeros(16_000, np.float32)),
    ])  # fmt: skip
    assert isinstance(result, Transcript)
    assert isinstance(nothing, Transcript)
    assert result.words is not None
    assert nothing.words == ()
    assert [word.text for word in result.words] == WHEN.split()
    # Where flite put them, behind half a second of silence.
    for word, start_s in zip(result.words[1:], (0.77, 0.90, 1.26), strict=True):
        assert word.start_s == pytest.approx(start_s, abs=0.1)
        assert word.start_s <= word.end_s <= 2.2
        assert word.confidence is not None
    assert result.words[0].end_s == result.words[1].start_s
    engine.close()
