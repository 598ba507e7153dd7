"""When a turn is over."""

import asyncio

import pytest

from tests.unit.voice_agent.turns.listening import silence, speech, windows
from tests.unit.voice_agent.turns.taker_scene import LIMIT_S, Scene
from voice_agent.turns import taker
from voice_agent.turns.scorer import Evidence
from voice_agent.turns.speech_activity import WINDOW_SAMPLES, Pcm16


class BySound:
    """A scorer that believes the sound."""

    def score(self, evidence: Evidence) -> float:
        return evidence.sound or 0.0


async def test_a_whole_question_ends_the_turn_at_once() -> None:
    scene = Scene()
    scene.hear(silence(5))
    scene.say("When do you open?")
    assert scene.line.asked == ["end_turn"]
    assert scene.line.speech_end == 25 * WINDOW_SAMPLES


async def test_every_window_is_told_on() -> None:
    scene = Scene()
    scene.hear(silence(3), speech(4))
    assert [heard.speech for heard in scene.told] == [False] * 4 + [True] * 3


async def test_half_a_sentence_is_waited_for_up_to_the_limit() -> None:
    scene = Scene()
    scene.say("I would like to.")
    scene.hear(silence(windows(LIMIT_S) - 6))
    assert scene.line.asked == []
    scene.hear(silence(3))
    assert scene.line.asked == ["end_turn"]


async def test_a_caller_who_goes_on_is_not_cut_off() -> None:
    scene = Scene()
    for _ in range(3):
        scene.say("I would like to.", pause_windows=windows(0.8))
    assert scene.line.asked == []


async def test_the_sound_is_asked_beside_the_loop_and_decides_when_it_answers() -> None:
    scene = Scene(BySound(), sound=lambda _: 0.95)
    scene.say("I would like to.", pause_windows=6)
    async with asyncio.timeout(10):
        await scene.line.changed.wait()
    assert scene.line.asked == ["end_turn"]
    assert all(len(pcm) <= 19_200 for pcm in scene.sound.looked)


async def test_a_broken_sound_model_leaves_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Pcm16) -> float:
        raise RuntimeError("no model")

    told = asyncio.Event()
    monkeypatch.setattr(taker.logger, "error", lambda *_, **__: told.set())
    scene = Scene(sound=broken)
    scene.hear(speech(20), silence(6))
    async with asyncio.timeout(10):
        await told.wait()
    scene.taker.read("When do you open?", scene.position)
    assert scene.line.asked == ["end_turn"]


async def test_a_caller_who_speaks_before_the_answer_goes_on_with_their_turn() -> None:
    scene = Scene()
    scene.say("When do you open?")
    scene.floor.can_take_back = True
    scene.hear(silence(5))
    scene.say("When do you open? On Saturday?")
    assert scene.line.asked == ["end_turn", "reopen", "end_turn"]


async def test_a_noise_before_the_answer_costs_less_than_the_limit() -> None:
    scene = Scene()
    scene.say("When do you open?")
    scene.floor.can_take_back = True
    scene.hear(silence(5), speech(3), silence(windows(0.45)))
    assert scene.line.asked == ["end_turn", "reopen", "end_turn"]


async def test_after_the_stream_ends_nothing_is_asked_of_it() -> None:
    scene = Scene(BySound(), sound=lambda _: 0.95)
    scene.hear(speech(20), silence(4))
    scene.taker.close()
    scene.taker.read("When do you open?", scene.position)
    scene.hear(silence(windows(LIMIT_S)))
    assert scene.line.asked == []
