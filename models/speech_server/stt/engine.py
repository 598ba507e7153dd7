"""What a speech-to-text engine is: a batch of utterances in, a result for each out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

SAMPLE_RATE_HZ = 16_000
"""Rate of all audio inside the speech-to-text role."""

Pcm = npt.NDArray[np.float32]
"""float32, shape (samples,), 16 kHz mono, in [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """One stretch of audio to transcribe."""

    pcm: Pcm
    """float32, (samples,), 16 kHz, in [-1, 1]."""
    language: str | None = None
    """BCP 47 tag, or None to let the engine decide."""
    prompt: str | None = None
    """Words that are likely to occur (keyterms), for engines that can use them."""


@dataclass(frozen=True, slots=True)
class Word:
    """One recognised word with its time."""

    text: str
    start_s: float
    """Seconds from the start of the utterance."""
    end_s: float
    """Seconds from the start of the utterance."""
    confidence: float | None = None
    """Probability in [0, 1]; None where the engine does not know."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said in one utterance."""

    text: str
    """Empty when nothing was said."""
    language: str | None = None
    """BCP 47 tag where the engine knows it."""
    words: tuple[Word, ...] | None = None
    """None where the engine knows no word times; never invented."""
    confidence: float | None = None
    """Probability in [0, 1]; None where the engine does not know."""


@dataclass(frozen=True, slots=True)
class SttEngineInfo:
    """What an engine can do, told to `/v1/models` and used by the batcher."""

    name: str
    """Engine name as in `PARLEY_STT_ENGINE`."""
    model: str
    """Model id as clients see it."""
    languages: tuple[str, ...] = field(default=("en",))
    """BCP 47 tags it understands."""
    word_times: bool = False
    """Whether transcripts carry word times."""
    max_batch_size: int = 1
    """Most utterances in one call of `transcribe`."""


class SttEngine(Protocol):
    """Runs one model. `transcribe` is called from one worker thread, never at once from two."""

    @property
    def info(self) -> SttEngineInfo:
        """What the engine can do."""
        ...

    def load(self) -> None:
        """Load the model and run it once, so that the first caller does not pay for it."""
        ...

    def transcribe(self, batch: Sequence[Utterance]) -> Sequence[Transcript | Exception]:
        """Transcribe a batch; blocking.

        Args:
            batch: between 1 and `info.max_batch_size` utterances.

        Returns:
            One result per utterance in order; an exception where that one failed alone.
        """
        ...

    def close(self) -> None:
        """Free the model."""
        ...
