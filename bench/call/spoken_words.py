"""When each word of the recorded set is spoken, worked out from what its voices say of themselves.

The set keeps the places of its pauses alone. Each line is spoken once more for the times of its
words, and these are laid between the pauses; they are right to some hundredths of a second.
"""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from itertools import accumulate, pairwise
from typing import Final

from bench.turns.recorded_set import Utterance
from bench.turns.render import FLITE_VOICES
from bench.turns.script import Line, read_script
from speech_server.tts.engine import Segment, TtsEngine, WordTime
from speech_server.tts.espeak import EspeakEngine
from speech_server.tts.flite import FliteEngine

_MARGIN_S: Final = 0.015
"""Silence before the first audible sample of an utterance. Source: bench/turns/render.py."""

Span = tuple[float, float]
"""Begin and end, seconds."""


async def spoken_words(recorded: Sequence[Utterance]) -> list[tuple[WordTime, ...]]:
    """The words of each utterance, seconds from its first sample; about 30 ms for each.

    Args:
        recorded: of the set as `utterances.yaml` has it.

    Raises:
        EngineFailed: flite is not installed.
        KeyError: an utterance is not in the script.
    """
    lines = {line.name: line for line in read_script()}
    async with AsyncExitStack() as stack:
        flite, espeak = FliteEngine(), EspeakEngine()
        for engine in (flite, espeak):
            await engine.load()
            stack.push_async_callback(engine.close)
        found = []
        for utterance in recorded:
            line = lines[utterance.name]
            said = await _said(line, flite if line.voice in FLITE_VOICES else espeak)
            found.append(laid_out(utterance, said))
        return found


async def _said(line: Line, engine: TtsEngine) -> dict[int, Span]:
    """Where the voice says that the words of a line are: index of the word → its times.

    espeak tells no time for some short words, which it joins to a neighbour.
    """
    told: list[WordTime] = []
    async for chunk in engine.synthesize(Segment(line.say, line.voice)):
        told += chunk.words
    if len(line.say.split()) != len(line.text.split()):
        return {}
    times: dict[int, Span] = {}
    words = line.say.split()
    for word in told:
        times[words.index(word.text, max(times, default=-1) + 1)] = (word.start_s, word.end_s)
    return times


def laid_out(utterance: Utterance, said: dict[int, Span]) -> tuple[WordTime, ...]:
    """Move the words of a line to where they are in its recording.

    Args:
        utterance: the recording.
        said: index of a word → its times in a line without pauses, at any pace; where a word is
            missing, its stretch is shared out by the length of its words.

    Returns:
        All words, in order, seconds from the recording's first sample.
    """
    words = utterance.text.split()
    cuts = [0, *utterance.words_before, len(words)]
    starts = [_MARGIN_S, *(pause.end_s for pause in utterance.pauses)]
    ends = [*(pause.start_s for pause in utterance.pauses), utterance.end_s]
    stretches = list(zip(cuts[:-1], cuts[1:], starts, ends, strict=True))
    paces = [
        (end_s - start_s) / (said[to - 1][1] - said[since][0])
        for since, to, start_s, end_s in stretches
        if since in said and to - 1 in said
    ]
    # Some voices count the silence after a sentence to its last word, which makes the stretch look
    # quicker than it is: the slowest stretch tells the pace of the line.
    pace = max(paces, default=1.0)
    placed: list[WordTime] = []
    for since, to, start_s, end_s in stretches:
        if all(index in said for index in range(since, to)):
            shift_s = start_s - pace * said[since][0]
            spans = [
                (min(shift_s + pace * begin_s, end_s), min(shift_s + pace * over_s, end_s))
                for begin_s, over_s in (said[index] for index in range(since, to))
            ]
        else:
            spans = _shared_out(words[since:to], start_s, end_s)
        placed += [WordTime(word, *span) for word, span in zip(words[since:to], spans, strict=True)]
    return tuple(placed)


def _shared_out(words: Sequence[str], start_s: float, end_s: float) -> list[Span]:
    """A stretch of time divided among words by their letters."""
    lengths = [len(word) for word in words]
    share_s = (end_s - start_s) / sum(lengths)
    marks_s = [start_s + share_s * before for before in accumulate(lengths, initial=0)]
    return list(pairwise(marks_s))
