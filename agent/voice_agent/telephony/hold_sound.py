"""What a caller hears who waits: soft notes of our own making, never silent for half a second."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
from livekit import rtc

NOTES_HZ: Final = (523.25, 659.26, 783.99, 659.26)
"""C5, E5, G5, E5: inside what a telephone carries (300-3400 Hz), away from the tones that mean
something to it. Source: ITU-T E.182 (dial, ringing and busy tones are at 350-480 and 620 Hz)."""
NOTE_S: Final = 0.75
"""Length of a note, seconds."""
LEVEL: Final = 0.1
"""Peak of a note, of full scale: 20 dB below it, quieter than the voice."""
_DECAY_S: Final = 0.45
_ATTACK_S: Final = 0.02
_FRAME_S: Final = 0.02
AHEAD_S: Final = 0.5
"""How far the frames run ahead of what is heard, seconds: a busy moment must not be heard."""


def hold_phrase(rate_hz: int) -> npt.NDArray[np.int16]:
    """The notes once: int16, (samples,), mono. Its end and its beginning fit together."""
    seconds = np.arange(round(NOTE_S * rate_hz)) / rate_hz
    release = np.minimum(1.0, (NOTE_S - seconds) / _ATTACK_S)
    envelope = np.minimum(1.0, seconds / _ATTACK_S) * np.exp(-seconds / _DECAY_S) * release
    notes = [np.sin(2 * np.pi * note * seconds) * envelope for note in NOTES_HZ]
    phrase: npt.NDArray[np.float64] = np.concatenate(notes)
    return (phrase * LEVEL * np.iinfo(np.int16).max).astype(np.int16)


def hold_frames(rate_hz: int) -> Iterator[rtc.AudioFrame]:
    """The notes without end, in frames of 20 ms."""
    phrase = hold_phrase(rate_hz)
    size = round(_FRAME_S * rate_hz)
    start = 0
    while True:
        frame = np.take(phrase, range(start, start + size), mode="wrap")
        start = (start + size) % len(phrase)
        yield rtc.AudioFrame(frame.tobytes(), rate_hz, 1, size)


async def paced(frames: Iterable[rtc.AudioFrame]) -> AsyncIterator[rtc.AudioFrame]:
    """Frames at the pace at which they are played: an output takes all that it can get."""
    loop = asyncio.get_running_loop()
    due_s = loop.time() - AHEAD_S
    for frame in frames:
        if due_s > loop.time():
            await asyncio.sleep(due_s - loop.time())
        due_s += frame.duration
        yield frame
