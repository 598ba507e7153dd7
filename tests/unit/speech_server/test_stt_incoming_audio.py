from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.audio.pcm import int16_to_linear16, int16_to_mulaw
from speech_server.stt.incoming_audio import IncomingAudio

SAMPLES = (np.arange(2_000) * 7 % 3_000).astype(np.int16)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.integers(0, 4_000), max_size=12))
def test_messages_may_cut_a_sample_in_two(cuts: list[int]) -> None:
    data = int16_to_linear16(SAMPLES)
    audio = IncomingAudio("linear16", 16_000)
    bounds = [0, *sorted(cuts), len(data)]
    parts = [audio.push(data[a:b]) for a, b in pairwise(bounds)]
    assert np.array_equal(np.concatenate(parts) * 32768, SAMPLES)


def test_half_a_sample_left_at_the_end_is_dropped() -> None:
    audio = IncomingAudio("linear16", 16_000)
    assert not audio.push(b"\x01").size
    assert not audio.flush().size
    assert audio.push(b"\x00\x40").tolist() == [0.5]


def test_mulaw_from_a_phone_line() -> None:
    audio = IncomingAudio("mulaw", 8_000)
    heard = np.concatenate((audio.push(int16_to_mulaw(SAMPLES)), audio.flush()))
    assert len(heard) == 2 * len(SAMPLES)
    assert np.isfinite(heard).all()
