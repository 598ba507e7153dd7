"""Who has the floor when a caller speaks over the agent: our turn taker, replayed over the set.

The agent speaks all the while and has more to say. Times are the audio's, from the caller's first
audible sample; what the network and the agent's queue add comes on top.
"""

import asyncio
import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from livekit.local_inference import VAD

from bench.percentiles import Percentiles
from bench.turns.evaluation import Heard
from bench.turns.recorded_set import Utterance
from bench.turns.render import RATE_HZ as RECORDED_RATE_HZ
from bench.turns.replay import READ_DELAY_S
from bench.turns.script import Part
from bench.turns.trace import LEAD_S, Reading, Trace, frames, stream_audio
from voice_agent.caller.sound import audible_indices
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.onset import SpeechOnset
from voice_agent.turns.scorer import EndScorer
from voice_agent.turns.sound import Pcm16
from voice_agent.turns.speech_activity import RATE_HZ, WINDOW_SAMPLES, SpeechActivity
from voice_agent.turns.taker import StreamTurnTaker

_PHASES: Final = range(0, WINDOW_SAMPLES, WINDOW_SAMPLES // 8)
"""Samples by which an interruption begins earlier in a window of the voice activity model, which
decides how soon it is noticed: a caller begins anywhere in one."""


@dataclass(frozen=True, slots=True)
class SpokenOver:
    """What became of the agent's speech."""

    silent_for_s: float
    """How long it was, where it kept the floor."""
    taken: bool
    """Whether it lost the floor."""
    taken_after_s: float | None
    """Seconds from the caller's first audible sample."""


@dataclass(frozen=True, slots=True)
class FloorResult:
    """What the rule made of one part."""

    part: Part
    backchannels: int
    ignored: int
    """Back-channels after which the agent kept the floor."""
    silent_p50_s: float | None
    """How long such a back-channel silenced the agent."""
    silent_p95_s: float | None
    interruptions: int
    heeded: int
    """Interruptions that took the floor."""
    stopped_p50_s: float | None
    """From an interruption's first audible sample until the agent was told to be silent, over all
    places in a window where it may begin; infinite where it never was."""
    stopped_p95_s: float | None
    stopped_max_s: float | None


@dataclass
class _Scene:
    """Both sides of the taker: an agent that goes on talking, and a line that is never asked."""

    position: int = 0
    silent_since: int | None = None
    silent: int = 0
    taken: int | None = None
    agent_has_it: bool = field(default=True, init=False)

    def hold_agent(self) -> None:
        self.silent_since = self.position

    def release_agent(self) -> None:
        if self.silent_since is not None:
            self.silent += self.position - self.silent_since
            self.silent_since = None

    def take_from_agent(self) -> None:
        if self.taken is None:
            self.taken = self.position

    def take_back_turn(self) -> bool:
        return False

    def end_turn(self, speech_end: int) -> None:
        self.take_from_agent()

    def set_aside(self) -> None:
        """Its words are nobody's."""

    def take_up(self) -> None:
        """The agent never ends."""

    def reopen(self) -> None:
        """It follows words set aside."""


class _Undecided:
    def probability(self, pcm: Pcm16) -> float:
        return 0.5


def speak_over(
    utterance: Utterance, trace: Trace, scorer: EndScorer, settings: EndpointingSettings
) -> SpokenOver:
    """Replay one utterance, with its words as late as they come."""
    scene = asyncio.run(_replay(utterance, scorer, settings, readings=trace.readings))
    began = _began(utterance)
    return SpokenOver(
        silent_for_s=scene.silent / RATE_HZ,
        taken=scene.taken is not None,
        taken_after_s=None if scene.taken is None else (scene.taken - began) / RATE_HZ,
    )


def silenced_after_s(
    utterance: Utterance, scorer: EndScorer, settings: EndpointingSettings, phase: int
) -> float:
    """When an agent is told to be silent that is spoken over.

    Args:
        utterance: what is said.
        scorer: see `settings`.
        settings: of the endpointer, which has no say here.
        phase: samples of the silence before the utterance that are left out.

    Returns:
        Seconds from its first audible sample; infinite where that never happens.
    """
    scene = asyncio.run(_replay(utterance, scorer, settings, phase=phase, until_silent=True))
    if scene.silent_since is None:
        return math.inf
    return (scene.silent_since - _began(utterance)) / RATE_HZ


async def _replay(
    utterance: Utterance,
    scorer: EndScorer,
    settings: EndpointingSettings,
    *,
    readings: Sequence[Reading] = (),
    phase: int = 0,
    until_silent: bool = False,
) -> _Scene:
    """Let a taker hear an utterance, and tell what became of the scene.

    Args:
        utterance: what is said.
        scorer: of the endpointer.
        settings: of the endpointer.
        readings: its words, which come `READ_DELAY_S` after they were asked for.
        phase: samples of the silence before it that are left out.
        until_silent: whether to leave the scene as it is once the agent is silent.
    """
    scene = _Scene(position=phase)
    endpointer = Endpointer(scorer, lambda: settings, "en")
    activity, onset = SpeechActivity(VAD()), SpeechOnset(VAD)
    taker = StreamTurnTaker(scene, scene, activity, endpointer, _Undecided(), lambda _: None, onset)
    coming = deque(readings)
    for frame in frames(stream_audio(utterance)[phase:]):
        scene.position += len(frame)
        taker.hear(frame)
        if until_silent and scene.silent_since is not None:
            return scene
        while coming and coming[0].asked_at + round(READ_DELAY_S * RATE_HZ) <= scene.position:
            reading = coming.popleft()
            taker.read(reading.text, reading.asked_at)
    taker.close()
    return scene


def _began(utterance: Utterance) -> int:
    """The first audible sample in the stream."""
    audible = audible_indices(utterance.pcm)
    assert audible is not None, f"{utterance.name} is silent"
    return round((LEAD_S + audible[0] / RECORDED_RATE_HZ) * RATE_HZ)


def evaluate_floor(
    part: Part, heard: Sequence[Heard], scorer: EndScorer, settings: EndpointingSettings
) -> FloorResult:
    """Replay what is said over the agent in a part; there must be some of both kinds."""

    def of(kind: str) -> list[Heard]:
        return [one for one in heard if one[0].part == part and one[0].kind == kind]

    hums = [speak_over(*one, scorer, settings) for one in of("backchannel")]
    interruptions = [speak_over(*one, scorer, settings) for one in of("interruption")]
    silent = Percentiles.of([hum.silent_for_s for hum in hums if not hum.taken])
    stops = [
        silenced_after_s(utterance, scorer, settings, phase)
        for utterance, _ in of("interruption")
        for phase in _PHASES
    ]
    stopped = Percentiles.of(stops)
    return FloorResult(
        part=part,
        backchannels=len(hums),
        ignored=sum(not hum.taken for hum in hums),
        silent_p50_s=silent.p50 if silent else None,
        silent_p95_s=silent.p95 if silent else None,
        interruptions=len(interruptions),
        heeded=sum(one.taken for one in interruptions),
        stopped_p50_s=stopped.p50 if stopped else None,
        stopped_p95_s=stopped.p95 if stopped else None,
        stopped_max_s=max(stops, default=None),
    )
