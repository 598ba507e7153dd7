"""Hears when the other side is audible, to the sample. Pure: time comes in with each frame.

The ear knows nothing of words or turns. It turns frames into *sounds*: stretches in which the other
side is audible, with breaks shorter than a breath bridged.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from voice_agent.caller.sound import AUDIBLE_RMS, RATE_HZ, Pcm16, audible_indices, rms

BREATH_S = 0.2
"""A break shorter than this does not end a sound, seconds: plosives and gaps inside one sentence
of synthetic speech reach 0.12 s."""


@dataclass
class Sound:
    """One audible stretch, on the clock that the frames were stamped with."""

    start_s: float
    """When its first audible sample reached the ear, seconds."""
    end_s: float
    """When its last audible sample so far reached the ear, seconds."""


class Ear:
    """Collects the sounds of one call."""

    def __init__(self) -> None:
        self._sounds: list[Sound] = []

    def hear(self, frame: Pcm16, arrived_s: float) -> None:
        """Take one frame; times must not run backwards.

        A frame sounds when it arrives: its sample `n` is heard `n / RATE_HZ` later.

        Args:
            frame: int16, (samples,), `sound.RATE_HZ`.
            arrived_s: when the frame arrived, seconds.
        """
        if rms(frame) <= AUDIBLE_RMS:
            return
        audible = audible_indices(frame)
        if audible is None:
            return  # cannot be: a root mean square above 300 needs a sample above 250
        start_s, end_s = (arrived_s + index / RATE_HZ for index in audible)
        if self._sounds and start_s - self._sounds[-1].end_s < BREATH_S:
            self._sounds[-1].end_s = max(end_s, self._sounds[-1].end_s)
        else:
            self._sounds.append(Sound(start_s, end_s))

    @property
    def sounds(self) -> Sequence[Sound]:
        """Every sound so far, in the order in which they began; the last one may go on."""
        return self._sounds

    def first_sound_since(self, since_s: float) -> Sound | None:
        """The first sound that *began* at or after `since_s`."""
        return next((sound for sound in self._sounds if sound.start_s >= since_s), None)

    def audible_after(self, after_s: float) -> bool:
        """Whether anything was audible after `after_s`, begun before it or not."""
        return bool(self._sounds) and self._sounds[-1].end_s > after_s

    def silent_for_s(self, now_s: float) -> float:
        """How long nothing has been audible, seconds; infinite before the first sound."""
        if not self._sounds:
            return float("inf")
        return now_s - self._sounds[-1].end_s
