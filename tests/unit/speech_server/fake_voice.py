"""A language model and a codec in place of Orpheus's, whose audio says which frames it is of."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import cycle

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.engine import Segment, SpeechChunk
from speech_server.tts.orpheus import OrpheusEngine, OrpheusOptions
from speech_server.tts.orpheus_codes import END_OF_SPEECH_ID, FRAME_SAMPLES, Frame, token_ids
from speech_server.tts.orpheus_prompt import Prompt

LEVEL = 0.001
"""Amplitude of the audio of a frame, times the number of the frame (from 1)."""
LEAST_LEVEL = 0.01
"""Added to it, so that every number is audible."""


def frame(number: int) -> Frame:
    """A frame that the fake codec makes audible as its number; 0 is silence."""
    return (number, 0, 0, 0, 0, 0, 0)


def ids_of(*numbers: int) -> list[int]:
    return [id_ for number in numbers for id_ in token_ids(frame(number))]


def said(*numbers: int) -> list[int]:
    """The ids of frames, and the end."""
    return [*ids_of(*numbers), END_OF_SPEECH_ID]


STALL = object()
"""In a script: no token comes any more."""

Script = Sequence[object]
"""Token ids to hand out one by one; an exception is raised."""


@dataclass
class FakeSource:
    """Plays one script for each request, the last one again and again."""

    scripts: list[Script] = field(default_factory=lambda: [said(1, 2, 3)])
    requests: list[tuple[Prompt, list[int]]] = field(default_factory=list)
    starts: int = 0
    closes: int = 0
    running: int = 0
    steps: list[int] = field(default_factory=lambda: [1])
    """Ids of each step, again and again."""
    start_failures: list[Exception] = field(default_factory=list)
    """What the next starts end with."""
    stalled: asyncio.Event = field(default_factory=asyncio.Event)
    """Set once a script has come to a stall."""

    def encode(self, text: str) -> list[int]:
        return list(text.encode())

    async def start(self) -> None:
        self.starts += 1
        if self.start_failures:
            raise self.start_failures.pop(0)

    async def close(self) -> None:
        self.closes += 1

    async def generate(
        self, prompt: Prompt, spoken: Sequence[int] = ()
    ) -> AsyncGenerator[Sequence[int], None]:
        self.requests.append((prompt, list(spoken)))
        script = self.scripts[min(len(self.requests), len(self.scripts)) - 1]
        self.running += 1
        waiting: list[int] = []
        sizes = cycle(self.steps)
        size = next(sizes)
        try:
            for item in script:
                if isinstance(item, int):
                    waiting.append(item)
                    if len(waiting) >= size:
                        await asyncio.sleep(0)
                        yield waiting
                        waiting, size = [], next(sizes)
                elif isinstance(item, Exception):
                    raise item
                else:
                    self.stalled.set()
                    await asyncio.Event().wait()
            if waiting:
                yield waiting
        finally:
            self.running -= 1


class FakeCodecStream:
    async def push(self, frames: Sequence[Frame]) -> list[PcmFloat]:
        await asyncio.sleep(0)
        levels = [LEAST_LEVEL + LEVEL * codes[0] if codes[0] else 0.0 for codes in frames]
        return [np.full(FRAME_SAMPLES, level, np.float32) for level in levels]

    async def flush(self) -> list[PcmFloat]:
        return []


class FakeCodec:
    """One constant for each frame, handed out at once."""

    def __init__(self) -> None:
        self.started = False
        self.closed = False

    def stream(self) -> FakeCodecStream:
        return FakeCodecStream()

    async def start(self) -> None:
        self.started = True

    async def close(self) -> None:
        self.closed = True


def numbers_heard(pcm: np.ndarray) -> list[int]:
    """The numbers of the frames in int16 audio, in order."""
    frames = pcm.reshape(-1, FRAME_SAMPLES)
    assert (frames == frames[:, :1]).all()
    levels = frames[:, 0] / 32768
    return [round((level - LEAST_LEVEL) / LEVEL) if level else 0 for level in levels]


def silent_frame(number: int) -> list[int]:
    """Frames that are silent and all different, as a model's own silence is."""
    first, *rest = ids_of(0)
    return [first, rest[0] + number, *rest[1:]]


async def chunks_of(engine: OrpheusEngine, segment: Segment) -> list[SpeechChunk]:
    async with aclosing(engine.synthesize(segment)) as chunks:
        return [chunk async for chunk in chunks]


def pcm_of(chunks: list[SpeechChunk]) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.int16), *(chunk.pcm for chunk in chunks)])


def engine_of(*scripts: Script, **options: bool) -> tuple[OrpheusEngine, FakeSource]:
    source = FakeSource(list(scripts))
    return OrpheusEngine(
        source, FakeCodec(), OrpheusOptions(stall_s=0.05, restart_pause_s=0.0, **options)
    ), source
