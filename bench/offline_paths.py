"""What reaches the recogniser of a caller's words, by browser and by telephone, without a call.

Opus and G.711 are the real ones; no packet is lost, and no time passes.
"""

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Final

import av
import numpy as np
import numpy.typing as npt
import soxr

from bench.call.sayings import Saying
from bench.phone import g711
from bench.phone.narrowband import for_the_line, thinned
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm
from speech_server.stt.segmenter import Segmenter, SegmenterSettings
from speech_server.stt.utterance import Closed
from speech_server.stt.vad import SileroVoiceActivity
from voice_agent.caller.sound import NOISE_FLOOR_RMS, RATE_HZ, Pcm16

OPUS_BITS_PER_S: Final = 32_000
"""What browsers send speech at, and livekit-sip a telephone's."""
_OPUS_HZ: Final = 48_000
_OPUS_FRAME: Final = _OPUS_HZ // 50
_LEAD_S: Final = 0.5
_TAIL_S: Final = 1.2
"""The line before and after the words."""

Noise = npt.NDArray[np.float64]
"""float64, (samples,), at the microphone's rate, on the scale of int16."""


def browser(saying: Saying) -> Pcm:
    """Through Opus: float32, (samples,), 16 kHz."""
    return for_the_recogniser(_through_opus(microphone(saying), RATE_HZ))


def telephone(saying: Saying) -> Pcm:
    """Through G.711 and Opus: float32, (samples,), 16 kHz."""
    return for_the_recogniser(by_telephone(microphone(for_the_line(saying))))


PATHS: Final[Mapping[str, Callable[[Saying], Pcm]]] = {"browser": browser, "telephone": telephone}


def microphone(saying: Saying, noise: Noise | None = None) -> Pcm16:
    """What a microphone has of it, with a pause before and after.

    Args:
        saying: the words.
        noise: what is heard beside them, as long as `length`; None: a quiet room, the same always.
    """
    samples = np.zeros(length(saying))
    lead = round(_LEAD_S * RATE_HZ)
    samples[lead : lead + len(saying.utterance.samples)] = saying.utterance.samples
    if noise is None:
        noise = np.random.default_rng(0).normal(0, NOISE_FLOOR_RMS, len(samples))
    return np.rint(samples + noise).clip(-(2**15), 2**15 - 1).astype(np.int16)


def length(saying: Saying) -> int:
    """Samples of the microphone for this saying."""
    return len(saying.utterance.samples) + round((_LEAD_S + _TAIL_S) * RATE_HZ)


def by_telephone(pcm: Pcm16) -> Pcm16:
    """What the agent has of a microphone's sound that a telephone sent: int16, at its rate."""
    return _through_opus(g711.decode(g711.encode(thinned(pcm))), g711.RATE_HZ)


def for_the_recogniser(pcm: Pcm16) -> Pcm:
    """The agent's sound at the recogniser's rate: float32, (samples,), 16 kHz."""
    resampled: Pcm = soxr.resample(pcm.astype(np.float32) / 2**15, RATE_HZ, SAMPLE_RATE_HZ)
    return resampled


def utterance(pcm: Pcm) -> Pcm:
    """The speech as the server cuts it out of a stream; empty where it hears none."""
    cutter = Segmenter(SileroVoiceActivity(), SegmenterSettings(interim_interval_s=None))
    events = [*cutter.push(pcm), *cutter.finalize()]
    closed = [one.audio.pcm for one in events if isinstance(one, Closed)]
    return np.concatenate(closed) if closed else np.zeros(0, np.float32)


def _through_opus(pcm: Pcm16, rate_hz: int) -> Pcm16:
    """Encoded and decoded: int16, (samples,), at the agent's rate."""
    encoder = av.CodecContext.create("libopus", "w")
    encoder.sample_rate, encoder.layout, encoder.format = _OPUS_HZ, "mono", "s16"
    encoder.bit_rate, encoder.options = OPUS_BITS_PER_S, {"application": "voip"}
    encoder.open()
    decoder = av.CodecContext.create("libopus", "r")
    decoder.sample_rate, decoder.layout = _OPUS_HZ, "mono"
    wide = soxr.resample(pcm, rate_hz, _OPUS_HZ)
    padded = np.pad(wide, (0, -len(wide) % _OPUS_FRAME))
    frame = av.AudioFrame.from_ndarray(padded[np.newaxis], format="s16", layout="mono")
    frame.sample_rate, frame.time_base = _OPUS_HZ, Fraction(1, _OPUS_HZ)
    packets = [*encoder.encode(frame), *encoder.encode(None)]
    sound = [part.to_ndarray()[0] for packet in packets for part in decoder.decode(packet)]
    samples = np.concatenate(sound)
    if samples.dtype != np.int16:
        samples = np.rint(samples.clip(-1, 1) * (2**15 - 1)).astype(np.int16)
    received: Pcm16 = soxr.resample(samples, _OPUS_HZ, RATE_HZ)
    return received
