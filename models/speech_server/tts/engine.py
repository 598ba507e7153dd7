"""What a text-to-speech engine is: one segment of text in, a stream of PCM out."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

Pcm16 = npt.NDArray[np.int16]
"""int16, shape (samples,), mono, at the engine's rate."""


@dataclass(frozen=True, slots=True)
class Voice:
    """One voice of an engine."""

    id: str
    """Name to ask for."""
    language: str
    """BCP 47 tag."""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """Text handed to the engine at once."""

    text: str
    """Plain text, normalised for speech, never empty."""
    voice: str
    """Id of one of the engine's voices."""
    speed: float = 1.0
    """Speaking rate, 1.0 is the voice's own. Range 0.25 to 4.0 as in OpenAI's API."""
    context: str = ""
    """Text of this reply spoken before, for engines that keep prosody across segments."""
    reply: object | None = field(default=None, compare=False, repr=False)
    """Stands for the reply: the same object in all of its segments. An engine may remember what it
    said by it, weakly, so that the memory goes with the reply."""


@dataclass(frozen=True, slots=True)
class WordTime:
    """When one word of a segment is spoken."""

    text: str
    start_s: float
    """Seconds from the start of the segment's audio."""
    end_s: float
    """Seconds from the start of the segment's audio."""


@dataclass(frozen=True, slots=True)
class SpeechChunk:
    """A piece of a segment's audio."""

    pcm: Pcm16
    """int16, (samples,), mono, `info.sample_rate_hz`."""
    words: tuple[WordTime, ...] = ()
    """Words that begin in this piece, or have ended by its end where the times are estimated; empty
    where the engine knows no word times."""


@dataclass(frozen=True, slots=True)
class TtsEngineInfo:
    """What an engine can do, told to `/v1/models` and `/v1/audio/voices`."""

    name: str
    """Engine name as in `PARLEY_TTS_ENGINE`."""
    model: str
    """Model id as clients see it."""
    sample_rate_hz: int
    """Rate of the engine's own audio, hertz."""
    voices: tuple[Voice, ...]
    """At least one; the first is the default."""
    word_times: bool = False
    """Whether chunks carry word times."""
    word_times_estimated: bool = False
    """Whether they are an estimate, and not what the engine's own alignment says."""
    sounds: frozenset[str] = frozenset()
    """Sounds that a text may ask for, as the engine reads them: ASCII, in lower case and in angle
    brackets ("<laugh>"). Everything else in angle brackets is removed before it sees a text."""
    reads_digits: bool = True
    """Whether it reads numbers, dates, money and abbreviations itself; False has English ones put
    into words before it sees a text."""

    def language_of(self, voice: str) -> str:
        """The BCP 47 tag of the voice with this id.

        Raises:
            KeyError: there is no such voice.
        """
        for known in self.voices:
            if known.id == voice:
                return known.language
        raise KeyError(voice)


class TtsEngine(Protocol):
    """Runs one voice model. `synthesize` may be called for several segments at once."""

    @property
    def info(self) -> TtsEngineInfo:
        """What the engine can do."""
        ...

    async def load(self) -> None:
        """Load the model and speak once, so that the first caller does not pay for it."""
        ...

    def synthesize(self, segment: Segment) -> AsyncGenerator[SpeechChunk, None]:
        """Speak one segment.

        Closing the generator (`aclose`, or cancelling the task that reads it) stops the engine's
        work for this segment within one step.

        Raises:
            EngineFailed: the engine broke on this segment.
        """
        ...

    async def close(self) -> None:
        """Free the model."""
        ...
