"""What Moonshine is asked again when it went in circles. The model is scripted: no audio of ours
sends the real one astray every time."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from speech_server.stt import moonshine
from speech_server.stt.beam_search import Logits
from speech_server.stt.engine import Pcm, Utterance
from speech_server.stt.moonshine_model import END

CIRCLES = "I would like to begin. Twin " + "Twin " * 20
SENTENCE = "I would like to book an appointment."


class ScriptedModel:
    """Gives its answers in turn and notes how much audio it was asked about."""

    def __init__(self, answers: list[str]) -> None:
        self.answers = answers
        self.asked: list[int] = []
        self.tokens = self

    def write(self, pcm: Pcm, _width: int) -> "ScriptedModel":
        self.asked.append(pcm.size)
        return self

    def begin(self) -> Logits:
        """Says nothing but that it has ended."""
        return np.where(np.arange(END + 1) == END, 0, -100).astype(np.float32)[np.newaxis]

    def go_on(self, attempts: Sequence[int], tokens: Sequence[int]) -> Logits:
        raise AssertionError((attempts, tokens))

    def text(self, tokens: Sequence[int]) -> str:
        assert not tokens
        return self.answers.pop(0)


def read(monkeypatch: pytest.MonkeyPatch, *answers: str) -> tuple[str, list[int]]:
    scripted = ScriptedModel(["warm", *answers])

    def scripted_model(_folder: Path) -> ScriptedModel:
        return scripted

    monkeypatch.setattr(moonshine, "MoonshineModel", scripted_model)
    engine = moonshine.MoonshineEngine()
    engine.load()
    scripted.asked.clear()
    (transcript,) = engine.transcribe([Utterance(np.full(16_000, 0.1, np.float32))])
    assert not isinstance(transcript, Exception), transcript
    assert not scripted.answers
    return transcript.text, scripted.asked


def test_a_plain_sentence_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text, asked = read(monkeypatch, SENTENCE)
    assert (text, len(asked)) == (SENTENCE, 1)


def test_circles_are_read_again_from_a_little_later(monkeypatch: pytest.MonkeyPatch) -> None:
    text, (first, second) = read(monkeypatch, CIRCLES, SENTENCE)
    assert text == SENTENCE
    assert first - second == 160


def test_circles_twice_are_cut_to_one_round(monkeypatch: pytest.MonkeyPatch) -> None:
    text, _ = read(monkeypatch, CIRCLES, CIRCLES)
    assert text == "I would like to begin. Twin"
