"""What a listener hears of audio that comes in pieces: play-out in real time, with nothing ahead.

The player starts with the first sample and never waits on purpose, which is the hardest case for a
server: whoever keeps some milliseconds in hand has fewer gaps than are counted here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from voice_agent.caller.sound import FRAME_S, RATE_HZ, Pcm16, audible_indices

LEAST_GAP_S: Final = FRAME_S
"""A player asks for 10 ms at a time: that much too late is an under-run."""


@dataclass(frozen=True)
class Piece:
    """Audio that came at once."""

    at_s: float
    """When it came, seconds on the client's clock."""
    pcm: Pcm16
    """int16, (samples,), 24 kHz."""


@dataclass(frozen=True)
class Playout:
    """How one reply was heard."""

    first_byte_s: float
    """From asking to the first audio, silent or not."""
    audible_s: float
    """From asking to the first sample that an ear hears; infinite where none does."""
    lead_s: float
    """Silence that the audio opens with."""
    audio_s: float
    gaps_s: tuple[float, ...]
    """Under-runs: times in which there was nothing to play and more to come."""
    took_s: float
    """From asking to the last piece."""
    began_at_s: float
    """When play-out began, on the client's clock."""
    ended_at_s: float
    """When it ended, on the client's clock."""


def play(pieces: Sequence[Piece], asked_at_s: float) -> Playout:
    """Play the pieces of a reply.

    Args:
        pieces: in the order in which they came, at least one.
        asked_at_s: when the first text was sent, on the clock of the pieces.
    """
    played_until_s = pieces[0].at_s
    gaps_s = []
    audible_at_s = float("inf")
    samples = 0
    for piece in pieces:
        if piece.at_s - played_until_s >= LEAST_GAP_S:
            gaps_s.append(piece.at_s - played_until_s)
        begins_s = max(played_until_s, piece.at_s)
        audible = audible_indices(piece.pcm) if audible_at_s == float("inf") else None
        if audible is not None:
            audible_at_s = begins_s + audible[0] / RATE_HZ
        samples += len(piece.pcm)
        played_until_s = begins_s + len(piece.pcm) / RATE_HZ
    return Playout(
        first_byte_s=pieces[0].at_s - asked_at_s,
        audible_s=audible_at_s - asked_at_s,
        lead_s=lead_s(np.concatenate([piece.pcm for piece in pieces])),
        audio_s=samples / RATE_HZ,
        gaps_s=tuple(gaps_s),
        took_s=pieces[-1].at_s - asked_at_s,
        began_at_s=pieces[0].at_s,
        ended_at_s=played_until_s,
    )


def lead_s(pcm: Pcm16) -> float:
    """Silence before the first sample that an ear hears, seconds; infinite where there is none."""
    audible = audible_indices(pcm)
    return float("inf") if audible is None else audible[0] / RATE_HZ
