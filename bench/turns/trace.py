"""What a turn taker hears of the recorded set: the models' answers, computed once and kept.

Every utterance is followed by silence. Its words are read by the built-in recogniser in the pauses
that the speech server finds, its sound is looked at where our endpointer looks. With that, any
scorer and any rule can be replayed in no time, on the audio's own clock.
"""

import functools
import hashlib
import inspect
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import soxr
from livekit.local_inference import VAD

from bench.turns.recorded_set import Utterance
from bench.turns.render import RATE_HZ as RECORDED_RATE_HZ
from speech_server.stt import beam_search, loudness, moonshine, moonshine_model, segmenter
from speech_server.stt.engine import Utterance as Decodable
from speech_server.stt.moonshine import MoonshineEngine
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.utterance import Preflight
from speech_server.stt.vad import SileroVoiceActivity
from voice_agent.turns.endpointer import Endpointer, EndpointingSettings
from voice_agent.turns.scorer import Evidence
from voice_agent.turns.sound import SOUND_SAMPLES, BundledSoundModel
from voice_agent.turns.speech_activity import RATE_HZ, Heard, SpeechActivity

LEAD_S: Final = 0.4
"""Silence before an utterance."""
TAIL_S: Final = 2.8
"""Silence after it: the framework's detector waits 2.5 s."""
LOOKS_UNTIL_S: Final = 1.05
"""The sound of longer silences is not looked at: past the hard limit."""
_ALL_LOOKS: Final = EndpointingSettings(
    threshold=1.0, hard_limit_s=LOOKS_UNTIL_S, first_sound_s=0.06, look_interval_s=0.06
)
"""Denser than any endpointer looks, so that other intervals, multiples of 64 ms, can be tried."""
_ASKED_BY: Final = (segmenter, loudness, moonshine, moonshine_model, beam_search)
"""What decides when words are read, and how: a change makes the answers anew."""
FRAME_SAMPLES: Final = 320
"""Audio comes in frames of 20 ms."""

Pcm16 = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class Reading:
    """Words, read in a pause."""

    asked_at: int
    """When the recogniser was asked, samples of the stream."""
    text: str


@dataclass(frozen=True, slots=True)
class Trace:
    """One utterance as it was heard. Positions are samples at 16 kHz."""

    heard: tuple[Heard, ...]
    looks: dict[int, float]
    """Position → the sound model's opinion of the audio up to it."""
    readings: tuple[Reading, ...]
    pauses: tuple[tuple[int, int], ...]
    """Where the caller pauses, from the last sound to the first."""
    end: int
    """The caller's last sound."""


def traces(recorded: list[Utterance], cache: Path) -> list[Trace]:
    """What is heard of each utterance; about 10 minutes of one core on first use.

    Args:
        recorded: the set.
        cache: folder to keep the models' answers in, a file for each utterance.
    """
    folder = cache / "turn-traces"
    folder.mkdir(parents=True, exist_ok=True)
    listener = _Listener()
    found = []
    for utterance in recorded:
        file = folder / f"{_fingerprint(utterance)}.json"
        if not file.is_file():
            making = file.with_suffix(".making")
            making.write_text(json.dumps(listener.answers(utterance)), encoding="utf-8")
            making.replace(file)
        found.append(_trace(utterance, json.loads(file.read_text(encoding="utf-8"))))
    return found


def stream_audio(utterance: Utterance) -> Pcm16:
    """An utterance with silence around it: int16, (samples,), 16 kHz."""
    parts = utterance.silence(LEAD_S), utterance.pcm, utterance.silence(TAIL_S)
    samples = np.concatenate(parts).astype(np.float32)
    resampled = soxr.resample(samples, RECORDED_RATE_HZ, RATE_HZ)
    return np.rint(np.clip(resampled, -(2**15), 2**15 - 1)).astype(np.int16)


def frames(audio: Pcm16) -> Iterator[Pcm16]:
    """The audio as it comes in, 20 ms at a time."""
    for begin in range(0, len(audio), FRAME_SAMPLES):
        yield audio[begin : begin + FRAME_SAMPLES]


def _heard(audio: Pcm16) -> tuple[Heard, ...]:
    activity = SpeechActivity(VAD())
    return tuple(heard for frame in frames(audio) for heard in activity.push(frame))


class _Never:
    def score(self, evidence: Evidence) -> float:
        return 0.0


class _Listener:
    """The models, loaded when the first answer is wanted."""

    def __init__(self) -> None:
        self._sound = BundledSoundModel()
        self._recogniser: MoonshineEngine | None = None

    def answers(self, utterance: Utterance) -> dict[str, Any]:
        audio = stream_audio(utterance)
        # An endpointer that is never sure looks at all that any other would look at.
        endpointer = Endpointer(_Never(), lambda: _ALL_LOOKS, "en")
        looks = {
            heard.position: self._sound.probability(
                audio[max(0, heard.position - SOUND_SAMPLES) : heard.position]
            )
            for heard in _heard(audio)
            if endpointer.hear(heard) and heard.silence_s <= LOOKS_UNTIL_S
        }
        return {"looks": looks, "readings": [asdict(reading) for reading in self._read(audio)]}

    def _read(self, audio: Pcm16) -> Iterator[Reading]:
        if self._recogniser is None:
            self._recogniser = MoonshineEngine()
            self._recogniser.load()
        cutter = Segmenter(SileroVoiceActivity(), SegmenterSettings(interim_interval_s=None))
        for frame in frames(audio):
            for event in cutter.push(frame.astype(np.float32) / 2**15):
                if isinstance(event, Preflight):
                    (read,) = self._recogniser.transcribe([Decodable(event.audio.pcm, "en")])
                    if isinstance(read, Exception):
                        raise read
                    yield Reading(cutter.position, read.text)


def _trace(utterance: Utterance, answers: dict[str, Any]) -> Trace:
    def position(seconds: float) -> int:
        return round((LEAD_S + seconds) * RATE_HZ)

    return Trace(
        heard=_heard(stream_audio(utterance)),
        looks={int(at): sound for at, sound in answers["looks"].items()},
        readings=tuple(Reading(**reading) for reading in answers["readings"]),
        pauses=tuple((position(p.start_s), position(p.end_s)) for p in utterance.pauses),
        end=position(utterance.end_s),
    )


def _fingerprint(utterance: Utterance) -> str:
    return hashlib.sha256(_answered_by() + utterance.pcm.tobytes()).hexdigest()[:20]


@functools.cache
def _answered_by() -> bytes:
    """What the answers depend on besides the audio."""
    settings = f"{LEAD_S} {TAIL_S} {LOOKS_UNTIL_S} {_ALL_LOOKS}"
    return "".join((settings, *map(inspect.getsource, _ASKED_BY))).encode()
