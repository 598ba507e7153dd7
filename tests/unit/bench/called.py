"""Made-up turns and tracks for tests of the call bench."""

import numpy as np

from bench.call.caller import Turn
from bench.call.track import Heard
from voice_agent.caller.ear import Ear, Sound
from voice_agent.caller.sound import FRAME_S, FRAME_SAMPLES, RATE_HZ


def turn(
    voice_to_voice_s: float | None = 0.4,
    *,
    kind: str = "complete",
    part: str = "tuned",
    cut_off: bool = False,
    committed_early: bool = False,
    user_turns: int = 1,
    late_s: float = 0.0,
) -> Turn:
    """A turn with the given outcome."""
    return Turn(
        part=part,
        kind=kind,
        voice="slt",
        pauses_s=(),
        heard=Heard(voice_to_voice_s, cut_off, committed_early),
        user_turns=user_turns,
        caller_late_s=late_s,
        stages=None,
        speculations_discarded=0,
    )


def hear(*spans_s: tuple[float, float], until_s: float = 20.0) -> list[Sound]:
    """What an ear makes of a track that is audible in these spans and noise elsewhere.

    Args:
        spans_s: begin and end of each, seconds, to the sample.
        until_s: length of the track.
    """
    samples = round(until_s * RATE_HZ)
    track = np.random.default_rng(0).normal(0, 6, samples)
    for begin_s, end_s in spans_s:
        begin, end = round(begin_s * RATE_HZ), round(end_s * RATE_HZ)
        track[begin:end] = 6000 * np.where(np.arange(end - begin) % 2, 1, -1)
    pcm = track.astype(np.int16)
    ear = Ear()
    for index in range(samples // FRAME_SAMPLES):
        frame = pcm[index * FRAME_SAMPLES : (index + 1) * FRAME_SAMPLES]
        ear.hear(frame, index * FRAME_S)
    return list(ear.sounds)
