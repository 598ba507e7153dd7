"""A turn taker with everything around it, for tests of when turns end and of who may speak."""

import asyncio
from collections.abc import Callable

import numpy as np

from tests.unit.voice_agent.turns.listening import ScriptedVoice, silence, speech
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import EndScorer, Evidence
from voice_agent.turns.speech_activity import Heard, Pcm16, SpeechActivity
from voice_agent.turns.taker import StreamTurnTaker

LIMIT_S = 1.0
"""Longest silence within a turn, seconds."""


class ByWords:
    """A scorer that believes a question mark."""

    def score(self, evidence: Evidence) -> float:
        return 1.0 if evidence.ending.name == "QUESTION" else 0.0


class RecordedLine:
    """Keeps what is asked of the stream of the caller's speech."""

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
    """Keeps what is asked of the agent; a test says whether it speaks."""

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
    """A sound model that answers what it is told to and keeps what it was shown."""

    def __init__(self, answer: Callable[[Pcm16], float]) -> None:
        self._answer = answer
        self.looked: list[Pcm16] = []

    def probability(self, pcm: Pcm16) -> float:
        self.looked.append(pcm)
        return self._answer(pcm)


class Scene:
    """A taker with everything around it.

    Args:
        scorer: of ends; a question mark is one unless told otherwise.
        sound: what the sound model answers to int16, (samples,), 16 kHz.
        agent_speaks: whether the agent has the floor.
    """

    def __init__(
        self,
        scorer: EndScorer | None = None,
        sound: Callable[[Pcm16], float] = lambda _: 0.5,
        *,
        agent_speaks: bool = False,
    ) -> None:
        self.line, self.floor, self.sound = RecordedLine(), ScriptedFloor(), Sound(sound)
        self.floor.agent_has_it = agent_speaks
        settings = EndpointingSettings(threshold=0.9, hard_limit_s=LIMIT_S)
        endpointer = Endpointer(scorer or ByWords(), lambda: settings, "en")
        activity = SpeechActivity(ScriptedVoice())
        self.told: list[Heard] = []
        self.taker = StreamTurnTaker(
            self.line, self.floor, activity, endpointer, self.sound, self.told.append
        )
        self.position = 0

    def hear(self, *pieces: Pcm16) -> None:
        """Let the taker hear audio, 20 ms at a time."""
        audio = np.concatenate(pieces)
        for at in range(0, len(audio), 320):
            self.taker.hear(audio[at : at + 320])
        self.position += len(audio)

    def say(self, text: str, *, speech_windows: int = 20, pause_windows: int = 4) -> None:
        """Let the taker hear speech and a pause, and then read the words."""
        self.hear(speech(speech_windows), silence(pause_windows))
        self.taker.read(text, self.position)
