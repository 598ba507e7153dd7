"""An utterance and what happens to it: the words that segmenter, stream and wire share."""

from dataclasses import dataclass
from enum import Enum

from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm


class Close(Enum):
    """Why an utterance ended."""

    ENDPOINT = "endpoint"
    FINALIZE = "finalize"
    END_OF_STREAM = "end_of_stream"
    LIMIT = "limit"


@dataclass(frozen=True, slots=True)
class Revision:
    """What an utterance held at one moment. Equal revisions hold the same speech."""

    utterance: int
    """Number of the utterance in its stream."""
    speech_end: int
    """Where its last speech stops, in samples of the stream."""


@dataclass(frozen=True, slots=True)
class UtteranceAudio:
    """The speech of an utterance so far, with long pauses left out."""

    revision: Revision
    pcm: Pcm
    """float32, (samples,), 16 kHz."""
    start: int
    """First sample covered, in samples of the stream."""
    end: int
    """One past the last sample covered, in samples of the stream."""
    anchors: tuple[tuple[int, int], ...] = ()
    """Rising pairs (sample of `pcm`, sample of the stream): where a stretch begins in both."""

    def stream_s(self, pcm_s: float) -> float:
        """When a moment of `pcm` was in the stream, seconds."""
        sample = pcm_s * SAMPLE_RATE_HZ
        return (sample + self._shift(sample)) / SAMPLE_RATE_HZ

    def stream_sample(self, sample: int) -> int:
        """Which sample of the stream a sample of `pcm` is."""
        return sample + self._shift(sample)

    def _shift(self, sample: float) -> int:
        shift = self.start
        for of_pcm, of_stream in self.anchors:
            if of_pcm > sample:
                break
            shift = of_stream - of_pcm
        return shift


@dataclass(frozen=True, slots=True)
class SpeechStarted:
    """The caller began to speak."""

    at: int
    """Sample of the stream."""


@dataclass(frozen=True, slots=True)
class Interim:
    """The caller speaks; this is what there is so far."""

    audio: UtteranceAudio


@dataclass(frozen=True, slots=True)
class Preflight:
    """The caller paused; perhaps that was all."""

    audio: UtteranceAudio


@dataclass(frozen=True, slots=True)
class Closed:
    """An utterance is over. Its audio is empty where a `finalize` found no speech."""

    audio: UtteranceAudio
    reason: Close


@dataclass(frozen=True, slots=True)
class SilenceAfterSpeech:
    """Nothing was said for `utterance_end_s`."""

    speech_end: int
    """Sample of the stream."""


Event = SpeechStarted | Interim | Preflight | Closed | SilenceAfterSpeech
