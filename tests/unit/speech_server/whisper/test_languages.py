"""Languages: of the caller, of the settings, of the model."""

import json
import shutil
from pathlib import Path

import pytest

from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine
from speech_server.stt.whisper_model import WhisperUnavailable
from tests.unit.speech_server.micro_whisper import (
    GERMAN,
    MODEL,
    WHEN,
    german_recording,
    loaded_engine,
    spoken,
)


def test_the_language_is_detected_for_each_caller(engine: WhisperEngine) -> None:
    results = engine.transcribe([Utterance(spoken(WHEN)), Utterance(german_recording())])
    texts = [(r.language, r.text) for r in results if isinstance(r, Transcript)]
    assert texts == [("en", WHEN), ("de", GERMAN)]


def test_the_callers_language_is_used_as_given(engine: WhisperEngine) -> None:
    (result,) = engine.transcribe([Utterance(spoken(WHEN), language="en-GB")])
    assert isinstance(result, Transcript)
    assert (result.language, result.text) == ("en", WHEN)


def test_an_unknown_language_fails_alone(engine: WhisperEngine) -> None:
    bad, good = engine.transcribe([
        Utterance(spoken(WHEN), language="tlh"),
        Utterance(spoken(WHEN), language="en"),
    ])  # fmt: skip
    assert isinstance(bad, ValueError)
    assert isinstance(good, Transcript)


def test_the_language_of_the_settings_is_not_detected() -> None:
    engine = loaded_engine(language="de")
    (result,) = engine.transcribe([Utterance(spoken(WHEN))])
    assert isinstance(result, Transcript)
    assert result.language == "de"
    engine.close()


def test_a_language_of_the_settings_that_the_model_lacks_is_told_at_once() -> None:
    with pytest.raises(WhisperUnavailable, match=r"language tlh: the model knows .*\ben\b"):
        loaded_engine(language="tlh")


def test_a_model_of_english_alone_is_asked_for_english_alone(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(MODEL, tmp_path / "model"))
    vocabulary = json.loads((folder / "vocabulary.json").read_text())
    # The empty token is what makes CTranslate2 take a model for multilingual.
    vocabulary[vocabulary.index("")] = "<filler>"
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary))
    engine = loaded_engine(model=folder)
    assert engine.info.languages == ("en",)
    bad, good = engine.transcribe(
        [Utterance(spoken(WHEN), language="de"), Utterance(spoken(WHEN), language="en-US")]
    )
    assert isinstance(bad, ValueError)
    assert isinstance(good, Transcript)
    assert good.language == "en"
    engine.close()
