import numpy as np

from tests.unit.voice_agent.turns.listening import LOUD, ScriptedVoice, silence, speech, windows
from tests.unit.voice_agent.turns.taker_scene import ByWords, RecordedLine, ScriptedFloor, Sound
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.onset import SpeechOnset
from voice_agent.turns.speech_activity import Pcm16, SpeechActivity
from voice_agent.turns.taker import StreamTurnTaker


class SharpEars:
    """A voice activity model that knows speech which `ScriptedVoice` does not hear."""

    def predict(self, pcm: Pcm16) -> float:
        return 0.9 if np.abs(pcm.astype(int)).max() >= LOUD // 2 else 0.05


class Scene:
    """A taker whose windows tell less than what lies between them."""

    def __init__(self) -> None:
        self.line, self.floor = RecordedLine(), ScriptedFloor()
        settings = EndpointingSettings(threshold=0.9, hard_limit_s=1.0)
        self._taker = StreamTurnTaker(
            self.line,
            self.floor,
            SpeechActivity(ScriptedVoice()),
            Endpointer(ByWords(), lambda: settings, "en"),
            Sound(lambda _: 0.5),
            lambda _: None,
            SpeechOnset(SharpEars),
        )

    def hear(self, *pieces: Pcm16) -> None:
        audio = np.concatenate(pieces)
        for at in range(0, len(audio), 320):
            self._taker.hear(audio[at : at + 320])


def sign(count: int = 2) -> Pcm16:
    """Windows that only sharp ears take for speech."""
    return speech(count) // 2


async def test_a_sign_between_the_windows_silences_the_agent() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(10))
    assert scene.floor.holds == []
    scene.hear(sign())
    assert scene.floor.holds == [True]
    assert scene.floor.taken == 0


async def test_the_agent_goes_on_when_nothing_comes_of_it() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(10), sign(), silence(windows(0.2)))
    assert scene.floor.holds == [True]
    scene.hear(silence(windows(0.15)))
    assert scene.floor.holds == [True, False]


async def test_speech_after_a_sign_finds_the_agent_silent_already() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    scene.hear(silence(10), sign(), speech(10))
    assert scene.floor.holds == [True]


async def test_a_sign_silences_nobody_who_does_not_speak() -> None:
    scene = Scene()
    scene.hear(silence(10), sign(), silence(1))
    scene.floor.agent_has_it = True
    scene.hear(silence(20))
    assert scene.floor.holds == []


async def test_a_line_that_gives_signs_for_nothing_is_not_believed_a_third_time() -> None:
    scene = Scene()
    scene.floor.agent_has_it = True
    for _ in range(4):
        scene.hear(silence(20), sign())
    assert scene.floor.holds == [True, False, True, False]


async def test_an_agent_that_begins_within_the_callers_turn_is_not_silenced_by_signs() -> None:
    scene = Scene()
    scene.hear(silence(10), speech(10))
    scene.floor.agent_has_it = True
    scene.hear(speech(5), sign(4))
    assert scene.floor.holds == []
