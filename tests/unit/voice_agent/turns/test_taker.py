import asyncio
from collections.abc import Callable

import numpy as np
import pytest

from tests.unit.voice_agent.turns.listening import ScriptedVoice, silence, speech, windows
from voice_agent.turns import taker
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import EndScorer, Evidence
from voice_agent.turns.speech_activity import WINDOW_SAMPLES, Heard, Pcm16, SpeechActivity
from voice_agent.turns.taker import StreamTurnTaker

LIMIT_S = 1.0


class ByWords:
    """A scorer that believes a question mark."""

    def score(self, evidence: Evidence) -> float:
        return 1.0 if evidence.ending.name == "QUESTION" else 0.0


class Sure:
    """A scorer that takes any pause for an end."""

    def score(self, evidence: Evidence) -> float:
        return 1.0


class BySound:
    """A scorer that believes the sound."""

    def score(self, evidence: Evidence) -> float:
        return evidence.sound or 0.0


class RecordedLine:
    def __init__(self) -> None:
        self.asked: list[str] = []
        self.speech_end: int | None = None
        self.changed = asyncio.Event()

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        self.changed.set()

    def end_turn(self, speech_end: int) -> None:
        self.speech_end = speech_end
        self._ask("end_turn")

    def set_aside(self) -> None:
        self._ask("set_aside")

    def take_up(self) -> None:
        self._ask("take_up")

    def reopen(self) -> None:
        self._ask("reopen")


class ScriptedFloor:
    def __init__(self) -> None:
        self.agent_has_it = False
        self.can_take_back = False
        self.taken = 0
        self.holds: list[bool] = []
        """What was asked for, in order: silence, and to go on."""

    def hold_agent(self) -> None:
        self.holds.append(True)

    def release_agent(self) -> None:
        self.holds.append(False)

    def take_from_agent(self) -> None:
        self.taken += 1

    def take_back_turn(self) -> bool:
        went, self.can_take_back = self.can_take_back, False
        return went


class Sound:
    def __init__(self, answer: Callable[[Pcm16], float]) -> None:
        self._answer = answer
        self.looked: list[Pcm16] = []

    def probability(self, pcm: Pcm16) -> float:
        self.looked.append(pcm)
        return self._answer(pcm)


class Scene:
    """A taker with everything around it."""

    def __init__(
        self,
        scorer: EndScorer | None = None,
        sound: Callable[[Pcm16], float] = lambda _: 0.5,
    ) -> None:
        self.line, self.floor, self.sound = RecordedLine(), ScriptedFloor(), Sound(sound)
        settings = EndpointingSettings(threshold=0.9, hard_limit_s=LIMIT_S)
        endpointer = Endpointer(scorer or ByWords(), lambda: settings, "en")
        activity = SpeechActivity(ScriptedVoice())
        self.told: list[Heard] = []
        self.taker = StreamTurnTaker(
            self.line, self.floor, activity, endpointer, self.sound, self.told.append
        )
        self.position = 0

    def hear(self, *pieces: Pcm16) -> None:
        audio = np.concatenate(pieces)
        for at in range(0, len(audio), 320):
            self.taker.hear(audio[at : at + 320])
        self.position += len(audio)

    def say(self, text: str, *, speech_windows: int = 20, pause_windows: int = 4) -> None:
        self.hear(speech(speech_windows), silence(pause_windows))
        self.taker.read(text, self.position)


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


async def test_a_back_channel_leaves_the_agent_the_floor() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Mhm.", speech_windows=8)
    assert scene.line.asked == ["set_aside"]
    assert scene.floor.taken == 0


async def test_a_back_channel_that_is_read_at_once_is_none_the_less_one() -> None:
    scene = Scene(Sure())
    scene.floor.agent_has_it = True
    scene.say("Okay.", speech_windows=8, pause_windows=3)
    assert scene.line.asked == []
    scene.hear(silence(2))
    assert scene.line.asked == ["set_aside"]
    assert scene.floor.taken == 0


async def test_more_than_a_back_channel_takes_the_floor_before_it_is_over() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Wait, I meant.")
    assert scene.floor.taken == 1
    assert scene.line.asked == []


async def test_long_speech_takes_the_floor_before_any_word_is_read() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(5), speech(windows(1.1)))
    assert scene.floor.taken == 0
    scene.hear(speech(windows(0.3)))
    assert scene.floor.taken == 1


async def test_a_noise_over_the_agent_is_nobodys_turn() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(speech(4), silence(windows(0.45)))
    assert scene.line.asked == ["set_aside"]


async def test_the_agent_is_silent_from_the_first_sign_of_speech_on() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(5))
    assert scene.floor.holds == []
    scene.hear(speech(1))
    assert scene.floor.holds == [True]
    scene.hear(speech(20))
    assert scene.floor.holds == [True]


async def test_a_click_holds_the_agent_for_a_moment() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(5), speech(1), silence(1))
    assert scene.floor.holds == [True]
    scene.hear(silence(windows(0.3)))
    assert scene.floor.holds == [True, False]
    assert scene.line.asked == []


async def test_doubt_within_the_beginning_of_a_word_is_no_reason_to_go_on() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(5), speech(1), silence(windows(0.2)), speech(10))
    assert scene.floor.holds == [True]


async def test_the_agent_goes_on_after_a_back_channel() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Mhm.", speech_windows=8)
    assert scene.floor.holds == [True, False]


async def test_the_agent_stays_silent_for_who_takes_the_floor() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Wait, I meant.")
    scene.hear(silence(windows(LIMIT_S)))
    assert scene.floor.holds == [True]
    assert scene.floor.taken == 1


async def test_a_line_that_echoes_does_not_stutter() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(*([speech(1), silence(10)] * 10))
    assert scene.floor.holds == [True, False] * 2
    scene.hear(speech(windows(0.35)))
    assert scene.floor.holds[4:] == [True]


async def test_words_after_echoes_are_heard_at_once_again() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(*([speech(1), silence(10)] * 2))
    scene.say("Okay.", speech_windows=15)
    scene.hear(silence(5), speech(1))
    assert scene.floor.holds == [True, False] * 3 + [True]


async def test_nobody_is_held_who_does_not_speak() -> None:
    scene = Scene()
    scene.hear(speech(20))
    assert scene.floor.holds == []


async def test_a_stream_that_ends_lets_the_agent_go_on() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(speech(5))
    scene.taker.close()
    assert scene.floor.holds == [True, False]


async def test_a_back_channel_that_was_a_beginning_belongs_to_the_turn() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Okay.", speech_windows=8)
    scene.say("Okay, but what does it cost?")
    assert scene.line.asked == ["set_aside", "reopen", "end_turn"]
    assert scene.floor.taken == 1


async def test_a_noise_is_not_the_beginning_of_a_turn() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(speech(4), silence(windows(0.45)))
    scene.say("What does it cost?")
    assert scene.line.asked == ["set_aside", "end_turn"]


async def test_a_back_channel_long_ago_is_forgotten() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Okay.", speech_windows=8)
    scene.hear(silence(windows(2.0)))
    scene.say("What does it cost?")
    assert scene.line.asked == ["set_aside", "end_turn"]


async def test_a_yes_at_the_end_of_the_agents_question_is_its_answer() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Yes.", speech_windows=8)
    scene.hear(silence(10))
    scene.taker.agent_stopped()
    assert scene.line.asked == ["set_aside", "take_up"]


async def test_a_yes_long_before_the_agents_end_is_not() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.say("Yes.", speech_windows=8)
    scene.hear(silence(windows(1.5)))
    scene.taker.agent_stopped()
    assert scene.line.asked == ["set_aside"]


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
