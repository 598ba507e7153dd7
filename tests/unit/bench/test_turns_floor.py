import math

import numpy as np
import pytest

from bench.turns import floor
from bench.turns.floor import evaluate_floor, silenced_after_s, speak_over
from bench.turns.recorded_set import Utterance
from bench.turns.render import RATE_HZ
from bench.turns.script import Kind
from bench.turns.trace import LEAD_S, Reading, Trace
from tests.unit.voice_agent.turns.listening import LOUD, ScriptedVoice
from voice_agent.turns.endpointer import EndpointingSettings
from voice_agent.turns.scorer import Evidence
from voice_agent.turns.speech_activity import Pcm16

SETTINGS = EndpointingSettings(threshold=0.9, hard_limit_s=1.0)


class Never:
    def score(self, evidence: Evidence) -> float:
        return 0.0


@pytest.fixture(autouse=True)
def by_loudness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(floor, "VAD", ScriptedVoice)


def spoken(kind: Kind, text: str, duration_s: float) -> tuple[Utterance, Trace]:
    """A line as loud as can be, read a tenth of a second after its end."""
    signs = np.random.default_rng(1).choice((-1, 1), round(duration_s * RATE_HZ))
    utterance = Utterance(
        name=text, part="tuned", kind=kind, voice="slt", text=text, words_before=(), pauses=(),
        end_s=duration_s, noise_db=60.0, pcm=(signs * 4 * LOUD).astype(np.int16),
    )  # fmt: skip
    end = round((LEAD_S + duration_s) * 16_000)
    reading = Reading(end + 1_600, text)
    return utterance, Trace(heard=(), looks={}, readings=(reading,), pauses=(), end=end)


def test_a_back_channel_silences_the_agent_for_its_length_and_a_little() -> None:
    outcome = speak_over(*spoken("backchannel", "Mhm.", 0.3), Never(), SETTINGS)
    assert not outcome.taken
    assert 0.3 < outcome.silent_for_s < 0.6


@pytest.mark.parametrize("phase", [0, 64, 448])
def test_an_agent_that_is_spoken_over_is_silenced_within_a_window_and_a_frame(phase: int) -> None:
    interruption, _ = spoken("interruption", "Stop.", 0.4)
    assert 0 < silenced_after_s(interruption, Never(), SETTINGS, phase) <= 0.052


def test_who_is_not_heard_silences_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deaf:
        def predict(self, pcm: Pcm16) -> float:
            return 0.0

    monkeypatch.setattr(floor, "VAD", Deaf)
    interruption, _ = spoken("interruption", "Stop.", 0.4)
    assert silenced_after_s(interruption, Never(), SETTINGS, phase=0) == math.inf


def test_an_interruption_takes_the_floor_once_read() -> None:
    outcome = speak_over(*spoken("interruption", "Stop.", 0.4), Never(), SETTINGS)
    assert outcome.taken
    assert outcome.taken_after_s is not None
    assert 0.5 < outcome.taken_after_s < 0.8


def test_both_kinds_are_counted() -> None:
    said = [
        spoken("backchannel", "Mhm.", 0.3),
        spoken("backchannel", "But what does it cost?", 1.0),
        spoken("interruption", "Wait.", 0.4),
        spoken("interruption", "Okay.", 0.4),
    ]
    result = evaluate_floor("tuned", said, Never(), SETTINGS)
    assert (result.backchannels, result.ignored) == (2, 1)
    assert (result.interruptions, result.heeded) == (2, 1)
    assert result.stopped_p50_s is not None
    assert result.stopped_max_s is not None
    assert 0 < result.stopped_p50_s <= result.stopped_max_s <= 0.052
