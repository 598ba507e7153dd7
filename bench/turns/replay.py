"""Who would have taken the turn when: rules for the end of a turn, replayed over what was heard.

Times are the audio's: what the network adds comes on top for every rule alike.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from bench.turns.trace import Trace
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import EndScorer
from voice_agent.turns.speech_activity import RATE_HZ

READ_DELAY_S: Final = 0.12
"""From the server's question to the recogniser until the words are at the agent, seconds. Source:
75 to 150 ms for an utterance on two CPU cores with the built-in recogniser, measured in calls."""
LOOK_DELAY_S: Final = 0.04
"""From a look at the sound until its result, seconds: 15 to 40 ms on two cores."""
VAD_HANGOVER_S: Final = 0.08
"""How long the framework's voice activity detector goes on after speech, seconds, measured."""
VAD_SILENCE_S: Final = 0.256
"""Silence it then waits for: eight windows, the least that the framework allows."""
DETECTOR_S: Final = 0.025
"""One run of the framework's turn detector."""
DETECTOR_THRESHOLD: Final = 0.36
"""Its threshold for English. Source: livekit-agents 1.8.9, inference/eot/languages.py."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rule made of an utterance."""

    cut_off: bool
    """Whether it took the turn before the caller's last sound."""
    delay_s: float | None
    """From the last sound until it took the turn, seconds; None: it never did, or too early."""


Rule = Callable[[Trace], Outcome]

EAGER_THRESHOLD: Final = 0.62
EAGER_LIMIT_S: Final = 0.5
"""For who would rather be quick: the threshold, and the silence in seconds after which words that
may be all end a turn. Twice as many turns of the tuned part are cut off as by default, two thirds
as many as by stock."""


def ours(
    scorer: EndScorer, settings: EndpointingSettings, read_delay_s: float = READ_DELAY_S
) -> Rule:
    """The endpointer, with the words and the sound as late as they come."""

    def replay(trace: Trace) -> Outcome:
        endpointer = Endpointer(scorer, lambda: settings, "en")
        for position in follow(trace, endpointer, read_delay_s):
            if endpointer.is_over():
                return _taken_at(position, trace)
        return Outcome(cut_off=False, delay_s=None)

    return replay


def follow(trace: Trace, endpointer: Endpointer, read_delay_s: float) -> Iterator[int]:
    """Tell an endpointer what is heard, window by window, up to each position."""
    readings = [(r.asked_at + round(read_delay_s * RATE_HZ), r) for r in trace.readings]
    looks: list[tuple[int, int]] = []
    for heard in trace.heard:
        while readings and readings[0][0] <= heard.position:
            _, reading = readings.pop(0)
            endpointer.read(reading.text, reading.asked_at)
        while looks and looks[0][0] <= heard.position:
            _, position = looks.pop(0)
            endpointer.look(trace.looks[position], position)
        if endpointer.hear(heard) and heard.position in trace.looks:
            looks.append((heard.position + round(LOOK_DELAY_S * RATE_HZ), heard.position))
        yield heard.position


def framework(min_delay_s: float, max_delay_s: float) -> Rule:
    """The framework's detector: asked once for each pause; a "no" costs the whole longest delay."""

    def replay(trace: Trace) -> Outcome:
        for speech_end, resumes in _silences(trace):
            asked = speech_end + round((VAD_HANGOVER_S + VAD_SILENCE_S) * RATE_HZ)
            if asked >= resumes:
                continue
            look = max((at for at in trace.looks if speech_end < at <= asked), default=None)
            done = look is None or trace.looks[look] >= DETECTOR_THRESHOLD
            delay_s = VAD_HANGOVER_S + (min_delay_s if done else max_delay_s)
            taken = max(asked + round(DETECTOR_S * RATE_HZ), speech_end + round(delay_s * RATE_HZ))
            if taken < resumes:
                return _taken_at(taken, trace)
        return Outcome(cut_off=False, delay_s=None)

    return replay


def fixed_silence(silence_s: float) -> Rule:
    """So much silence, whatever was said."""

    def replay(trace: Trace) -> Outcome:
        for speech_end, resumes in _silences(trace):
            taken = speech_end + round(silence_s * RATE_HZ)
            if taken < resumes:
                return _taken_at(taken, trace)
        return Outcome(cut_off=False, delay_s=None)

    return replay


def _silences(trace: Trace) -> list[tuple[int, int]]:
    """Each silence: from the last speech to the first window with speech again, or the end."""
    found: list[tuple[int, int]] = []
    speech_end = None
    for heard in trace.heard:
        if heard.speech:
            if speech_end is not None and heard.speech_end - speech_end > RATE_HZ // 20:
                found.append((speech_end, heard.position))
            speech_end = heard.speech_end
    if speech_end is not None:
        found.append((speech_end, trace.heard[-1].position))
    return found


def _taken_at(position: int, trace: Trace) -> Outcome:
    if position < trace.end:
        return Outcome(cut_off=True, delay_s=None)
    return Outcome(cut_off=False, delay_s=(position - trace.end) / RATE_HZ)
