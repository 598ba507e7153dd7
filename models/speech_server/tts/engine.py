"""What a text-to-speech engine is: one segment of text in, a stream of PCM out."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
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
    """Words that begin in this piece; empty where the engine knows no word times."""


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
