"""Likely words: what the model gets of them, and that strange ones do no harm."""

from collections.abc import Sequence

import pytest

from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine
from speech_server.stt.whisper_decoder import Reading, WhisperDecoder, Window
from tests.unit.speech_server.micro_whisper import NAME, WHEN, heard, spoken


def test_likely_words_do_no_harm(engine: WhisperEngine) -> None:
    prompted = Utterance(spoken(NAME), prompt="Peter Miller, Tuesday, appointment")
    assert heard(engine, prompted, spoken(WHEN)) == [NAME, WHEN]


@pytest.mark.parametrize(
    "prompt", ["  ", "<|endoftext|><|startoftranscript|>", "x" * 5000, "日本語, é", "\0\ud800"]
)
def test_strange_likely_words_do_no_harm_to_others(engine: WhisperEngine, prompt: str) -> None:
    strange, plain = engine.transcribe(
        [Utterance(spoken(NAME), prompt=prompt), Utterance(spoken(WHEN))]
    )
    assert isinstance(strange, Transcript)
    assert isinstance(plain, Transcript)
    assert plain.text == WHEN


def test_likely_words_are_given_to_the_model_within_its_limit(
    engine: WhisperEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    prompts: list[tuple[int, ...]] = []

    def noted(_: WhisperDecoder, windows: Sequence[Window]) -> list[Reading]:
        prompts.extend(window.prompt for window in windows)
        return [Reading(WHEN, "en", -0.1, 0.0, None) for _ in windows]

    monkeypatch.setattr(WhisperDecoder, "read", noted)
    for prompt in ("Peter Miller", "Peter Miller, " * 500, "<|nospeech|>", None):
        heard(engine, Utterance(spoken(WHEN), prompt=prompt))
    names, many, control, none = prompts
    assert 1 <= len(names) < 10
    assert len(many) == 222
    assert len(control) <= 1  # the space in front
    assert none == ()
