"""When a segment's first sound is handed out."""

from collections.abc import Callable

import numpy as np

from speech_server.audio.pcm import PcmFloat
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Frame
from speech_server.tts.snac_stream import Pace, SnacStream, Window


def sounding_from(sample: int) -> Callable[[Window], PcmFloat]:
    """A codec that is silent up to a sample of the segment; each frame's code is its number."""

    def decode(window: Window) -> PcmFloat:
        first = int(window.codes[window.left, 0]) * FRAME_SAMPLES
        at = np.arange(first, first + window.samples)
        return np.where(at < sample, 0.0, 0.1).astype(np.float32)

    return decode


NUMBERED: list[Frame] = [(number,) * 7 for number in range(20)]


def arrivals_of_sound(sample: int, pace: Pace) -> list[int]:
    """Frames that had come when each of the first three pieces with sound did."""
    stream = SnacStream(sounding_from(sample), pace)
    arrived = []
    for count, frame in enumerate(NUMBERED, 1):
        arrived += [count for piece in stream.push([frame]) if piece.any()]
    return arrived[:3]


def test_a_first_sound_that_would_end_too_early_waits_for_the_next_frame() -> None:
    pace = Pace.for_speed(1.5)
    assert arrivals_of_sound(4 * FRAME_SAMPLES - 1_400, pace) == [5, 6, 7]
    assert arrivals_of_sound(4 * FRAME_SAMPLES - 1_300, pace) == [6, 7, 8]


def test_a_frame_heard_in_part_does_not_count_as_opened() -> None:
    pace = Pace(opening=(1, 2), speed=2.0)
    assert arrivals_of_sound(3 * FRAME_SAMPLES, pace)[:2] == [5, 7]
    assert arrivals_of_sound(4 * FRAME_SAMPLES - 1_400, pace) == [5, 6, 8]


def test_a_short_sound_is_heard_where_the_segment_ends() -> None:
    stream = SnacStream(sounding_from(4 * FRAME_SAMPLES - 100))
    heard = [piece for frame in NUMBERED[:4] for piece in stream.push([frame])]
    heard += stream.flush()
    assert sum(map(len, heard)) == 4 * FRAME_SAMPLES
    assert np.count_nonzero(np.concatenate(heard)) == 100
