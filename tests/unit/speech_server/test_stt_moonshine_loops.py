"""What Moonshine is asked again when it went in circles. The model is scripted: no audio of ours
sends the real one astray every time."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from speech_server.stt import moonshine
from speech_server.stt.engine import Utterance

CIRCLES = "I would like to begin. Twin " + "Twin " * 20
SENTENCE = "I would like to book an appointment."


@dataclass
class ScriptedTranscriber:
    """Gives its answers in turn and notes how much audio it was asked about."""

    answers: list[str]
    asked: list[int]

    def transcribe_without_streaming(self, audio: list[float], _rate_hz: int) -> Any:
        self.asked.append(len(audio))
        return SimpleNamespace(lines=[SimpleNamespace(text=self.answers.pop(0))])


def read(monkeypatch: pytest.MonkeyPatch, *answers: str) -> tuple[str, list[int]]:
    scripted = ScriptedTranscriber(["warm", *answers], [])
    monkeypatch.setattr(moonshine, "Transcriber", lambda *_, **__: scripted)
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
