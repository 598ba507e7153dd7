"""Gaps in what a telephone heard that were not in what was said. Pure.

The voice says the same words the same way every time, so an answer is compared with the same answer
heard alone: slice by slice, by how much later its waveform is found. Where that grows, something
was inserted; where it shrinks, something was left out; where a slice is not found at all, it was
lost or garbled. And sound that arrives too late for a telephone's own buffer is a gap as well.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from bench.phone import g711
from bench.phone.telephone import Heard
from voice_agent.caller.sound import AUDIBLE_RMS, Pcm16, audible_indices, rms

SLICE_S: Final = 0.2
_SEARCH_S: Final = 0.5
"""A slice is looked for so much sooner and later than the one before it."""
_SAME: Final = 0.9
"""Correlation above which a slice is found: the same words are at 0.97 and above, others below
0.85 (three answers of 9 s on a busy machine)."""
GAP_S: Final = 0.015
"""Less than a packet of 20 ms, which is the least that the way to a telephone loses or adds."""
HOLD_S: Final = 0.06
"""What the telephone is taken to hold back for sound that comes late: three packets."""
_RATE_HZ: Final = g711.RATE_HZ


@dataclass(frozen=True)
class Glitch:
    """One place at which an answer was not as it should be."""

    at_s: float
    """In the answer, seconds."""
    gap_s: float | None
    """What was inserted, below zero what was left out; None: lost or garbled in its place."""


def answer_track(heard: Sequence[Heard], length_s: float) -> Pcm16:
    """An answer as it was sent: packets in their places, whenever they arrived.

    Args:
        heard: packets in order, the first ones from before the answer's first sound.
        length_s: how much of it.

    Returns:
        int16, (samples,), 8 kHz, from its first audible sample on; shorter where less was heard.
    """
    if not heard:
        return np.zeros(0, np.int16)
    origin, last = heard[0].position, heard[-1]
    track = np.zeros(last.position - origin + len(last.pcm), np.int16)
    for packet in heard:
        begin = packet.position - origin
        track[begin : begin + len(packet.pcm)] = packet.pcm
    audible = audible_indices(track)
    if audible is None:
        return np.zeros(0, np.int16)
    return track[audible[0] : audible[0] + round(length_s * _RATE_HZ)]


def glitches(said: Pcm16, track: Pcm16) -> list[Glitch]:
    """Compare an answer with the same one heard alone.

    Args:
        said: heard alone; int16, (samples,), 8 kHz, from its first audible sample on.
        track: the one in question, likewise.
    """
    size, reach = round(SLICE_S * _RATE_HZ), round(_SEARCH_S * _RATE_HZ)
    found: list[Glitch] = []
    lag, anchored, missed_at_s = 0, False, None
    # Where both begin is not known to the sample, since a first sound may be just below audible:
    # the first slice is left out and the second one tells. The last ones may be beyond the track.
    for begin in range(size, min(len(said), len(track)) - size - reach, size):
        part = said[begin : begin + size]
        if rms(part) <= AUDIBLE_RMS:
            continue
        at_s = begin / _RATE_HZ
        later = _found_later(part, track, begin + lag)
        if later is None:
            missed_at_s = at_s if missed_at_s is None else missed_at_s
            continue
        if anchored and abs(later) > GAP_S * _RATE_HZ:
            found.append(Glitch(at_s, later / _RATE_HZ))
        elif missed_at_s is not None:
            found.append(Glitch(missed_at_s, None))
        lag, anchored, missed_at_s = lag + later, True, None
    if missed_at_s is None and len(track) + reach < len(said):
        missed_at_s = len(track) / _RATE_HZ
    if missed_at_s is not None:
        found.append(Glitch(missed_at_s, None))
    return found


def late_gaps_s(heard: Iterable[Heard]) -> list[float]:
    """Breaks in the sound of a telephone that plays each packet in its time or when it comes.

    Args:
        heard: packets in order. The first one is held back for `HOLD_S`; after a break the
            telephone holds back as much again.

    Returns:
        Length of each break within audible sound, seconds.
    """
    gaps: list[float] = []
    plays_at_zero_s: float | None = None
    for packet in heard:
        due_s = packet.position / _RATE_HZ
        ready_s = packet.arrived_s - due_s
        if plays_at_zero_s is None:
            plays_at_zero_s = ready_s + HOLD_S
        if (late_s := ready_s - plays_at_zero_s) > 0:
            if audible_indices(packet.pcm) is not None:
                gaps.append(late_s)
            plays_at_zero_s = ready_s + HOLD_S
    return gaps


def _found_later(part: Pcm16, track: Pcm16, expected: int) -> int | None:
    """How many samples later than expected a slice is found; None where it is not."""
    reach = round(_SEARCH_S * _RATE_HZ)
    begin, end = max(0, expected - reach), expected + reach + len(part)
    window = track[begin:end].astype(np.float64)
    if len(window) < len(part):
        return None
    sought = part.astype(np.float64)
    so_far = np.concatenate(([0.0], np.cumsum(np.square(window))))
    energy = so_far[len(part) :] - so_far[: -len(part)]
    scale = np.sqrt(np.maximum(energy, 1.0) * float(np.square(sought).sum()))
    likeness: npt.NDArray[np.float64] = np.correlate(window, sought, "valid") / scale
    best = int(np.argmax(likeness))
    return begin + best - expected if likeness[best] >= _SAME else None
