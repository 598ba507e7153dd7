"""Speaks the lines of the recorded set and cuts their pauses in."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import soxr

from bench.turns.script import Line
from speech_server.tts.engine import Segment, TtsEngine, WordTime
from speech_server.tts.espeak import EspeakEngine
from speech_server.tts.flite import FliteEngine

RATE_HZ: Final = 24_000
"""Rate of a session's input."""

_LEVEL: Final = 0.1
"""Root mean square of the speech, of full scale: -20 dBFS."""
_AUDIBLE: Final = 250 / 2**15
"""|sample| above this counts as speech."""
_MARGIN_S: Final = 0.015
"""Kept around what is audible, seconds: words fade in and out."""
_FADE_S: Final = 0.005
_SEARCH_S: Final = 0.04
"""A word boundary is looked for this far around where the voice says that it is, seconds."""
_NOISE_DB: Final = (55.0, 48.0, 42.0, 36.0)
"""How far the noise lies below the speech; the lines go through these."""
_SPEEDS: Final = (1.0, 0.92, 1.08)
"""Speaking rates; the lines go through these."""
FLITE_VOICES: Final = frozenset(("slt", "rms", "awb", "kal"))

Pcm16 = npt.NDArray[np.int16]
_Samples = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Pause:
    """Where nothing is audible between two words."""

    start_s: float
    """Seconds from the first sample."""
    end_s: float
    """Seconds from the first sample."""


@dataclass(frozen=True, eq=False, slots=True)
class Spoken:
    """A line as it was spoken."""

    pcm: Pcm16
    pauses: tuple[Pause, ...]
    end_s: float
    noise_db: float


def say_lines(script: Sequence[Line]) -> list[Spoken]:
    """Speak every line, in order; the same lines give the same samples.

    Raises:
        EngineFailed: flite is not installed.
        ValueError: a voice does not tell where the words of a line are.
    """
    return asyncio.run(_say_lines(script))


async def _say_lines(script: Sequence[Line]) -> list[Spoken]:
    async with AsyncExitStack() as stack:
        flite, espeak = FliteEngine(), EspeakEngine()
        for engine in (flite, espeak):
            await engine.load()
            stack.push_async_callback(engine.close)
        return [
            await _say(line, index, flite if line.voice in FLITE_VOICES else espeak)
            for index, line in enumerate(script)
        ]


async def _say(line: Line, index: int, engine: TtsEngine) -> Spoken:
    pieces, words = [], []
    segment = Segment(line.say, line.voice, _SPEEDS[index % len(_SPEEDS)])
    async for chunk in engine.synthesize(segment):
        pieces.append(chunk.pcm)
        words += chunk.words
    samples = np.concatenate(pieces).astype(np.float64) / 2**15
    samples = soxr.resample(samples, engine.info.sample_rate_hz, RATE_HZ)
    speech, pauses, end_s = _with_pauses(samples, words, line)
    noise_db = _NOISE_DB[index % len(_NOISE_DB)]
    noise = room_noise(len(speech), noise_db, seed=index + 2)
    pcm = _to_pcm16(speech + noise.astype(np.float64) / 2**15)
    return Spoken(pcm, pauses, end_s, noise_db)


def room_noise(samples: int, below_speech_db: float, seed: int) -> Pcm16:
    """White noise: int16, (samples,), so far below the speech; the same for the same seed."""
    level = _LEVEL * 10 ** (-below_speech_db / 20)
    return _to_pcm16(np.random.default_rng(seed).normal(0.0, level, samples))


def _with_pauses(
    samples: _Samples, words: Sequence[WordTime], line: Line
) -> tuple[_Samples, tuple[Pause, ...], float]:
    """The line at its level, cut at its pauses, with silence of the wanted length between."""
    loud = samples[np.abs(samples) > _AUDIBLE]
    speech = np.clip(samples * (_LEVEL / np.sqrt(np.mean(loud**2))), -0.99, 0.99)
    cuts = [_quietest(speech, *_boundary(line, words, pause.after_word)) for pause in line.pauses]
    pieces = [_trimmed(piece) for piece in np.split(speech, cuts)]
    margin = round(_MARGIN_S * RATE_HZ)
    track: list[_Samples] = [pieces[0]]
    pauses: list[Pause] = []
    length = len(pieces[0])
    for pause, piece in zip(line.pauses, pieces[1:], strict=True):
        silence = round(pause.duration_s * RATE_HZ)
        start = length - margin
        pauses.append(Pause(start / RATE_HZ, (start + silence) / RATE_HZ))
        track += [np.zeros(max(0, silence - 2 * margin)), piece]
        length += max(0, silence - 2 * margin) + len(piece)
    return np.concatenate(track), tuple(pauses), (length - margin) / RATE_HZ


def _boundary(line: Line, words: Sequence[WordTime], after_word: int) -> tuple[float, float]:
    """Where the word before a pause ends and the one after it begins, as the voice says.

    espeak tells no time for some short words, which it joins to a neighbour.
    """
    times: dict[int, WordTime] = {}
    said = line.say.split()
    for word in words:
        times[said.index(word.text, max(times, default=-1) + 1)] = word
    before, after = times.get(after_word - 1), times.get(after_word)
    if before is None and after is None:
        raise ValueError(f"{line.name}: the voice does not tell where word {after_word} ends")
    end_s = before.end_s if before else after.start_s if after else 0.0
    return end_s, after.start_s if after else end_s


def _quietest(speech: _Samples, end_s: float, start_s: float) -> int:
    """The quietest 5 ms around the boundary between two words."""
    begin = round((min(end_s, start_s) - _SEARCH_S) * RATE_HZ)
    end = round((max(end_s, start_s) + _SEARCH_S) * RATE_HZ)
    frame = round(_FADE_S * RATE_HZ)
    energies = [
        float(np.square(speech[at : at + frame]).sum()) for at in range(begin, end - frame, frame)
    ]
    return begin + int(np.argmin(energies)) * frame + frame // 2


def _trimmed(piece: _Samples) -> _Samples:
    """What is audible, with exactly `_MARGIN_S` around it, faded at both ends."""
    margin, fade = round(_MARGIN_S * RATE_HZ), round(_FADE_S * RATE_HZ)
    padded = np.pad(piece, margin)
    audible = np.flatnonzero(np.abs(padded) > _AUDIBLE)
    kept = padded[audible[0] - margin : audible[-1] + 1 + margin].copy()
    ramp = np.linspace(0.0, 1.0, fade)
    kept[:fade] *= ramp
    kept[-fade:] *= ramp[::-1]
    return kept


def _to_pcm16(samples: _Samples) -> Pcm16:
    return np.rint(np.clip(samples, -1.0, 1.0) * (2**15 - 1)).astype(np.int16)
