"""A caller's side of a conversation on the telephone: recorded lines, and waiting for answers."""

import wave
from pathlib import Path

import numpy as np
import soxr

from tests.softphone import Softphone
from tests.telephone_sound import RATE_HZ, Pcm16

_FIXTURES = Path(__file__).parent / "fixtures" / "conversation"


def spoken(name: str) -> Pcm16:
    """A line of the recorded conversation, as a telephone sends it."""
    with wave.open(str(_FIXTURES / f"{name}.wav")) as file:
        pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        resampled: Pcm16 = soxr.resample(pcm, file.getframerate(), RATE_HZ)
    return resampled


async def hear_answer(phone: Softphone, after: int) -> None:
    """Wait for an answer and for its end.

    Args:
        phone: the telephone.
        after: how many samples had been heard when the answer became due.
    """
    await phone.until_audible(after)
    await phone.until_silent()
