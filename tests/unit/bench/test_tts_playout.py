import math

import numpy as np
import pytest

from bench.tts.playout import Piece, lead_s, play
from voice_agent.caller.sound import AUDIBLE_SAMPLE, RATE_HZ, Pcm16


def sound(duration_s: float, level: int = 5000) -> Pcm16:
    return np.full(round(duration_s * RATE_HZ), level, np.int16)


def test_audio_that_comes_in_time_has_no_gap() -> None:
    heard = play([Piece(10.1, sound(0.2)), Piece(10.2, sound(0.2)), Piece(10.5, sound(0.1))], 10.0)
    assert heard.gaps_s == ()
    assert heard.first_byte_s == pytest.approx(0.1)
    assert heard.audible_s == pytest.approx(0.1)
    assert heard.audio_s == pytest.approx(0.5)
    assert (heard.began_at_s, heard.ended_at_s) == pytest.approx((10.1, 10.6))
    assert heard.took_s == pytest.approx(0.5)


def test_a_gap_is_as_long_as_there_was_nothing_to_play() -> None:
    heard = play([Piece(0.1, sound(0.2)), Piece(0.45, sound(0.1)), Piece(0.46, sound(0.1))], 0.0)
    assert heard.gaps_s == pytest.approx((0.15,))
    assert heard.ended_at_s == pytest.approx(0.65)


def test_what_no_player_notices_is_no_gap() -> None:
    heard = play([Piece(0.0, sound(0.1)), Piece(0.109, sound(0.1))], 0.0)
    assert heard.gaps_s == ()


def test_silence_at_the_start_is_not_heard() -> None:
    pieces = [
        Piece(0.1, sound(0.08, 0)),
        Piece(0.2, np.concatenate((sound(0.05, AUDIBLE_SAMPLE), sound(0.1)))),
    ]
    heard = play(pieces, 0.0)
    assert heard.first_byte_s == pytest.approx(0.1)
    # The second piece came 20 ms late and opens with 50 ms that nobody hears.
    assert heard.audible_s == pytest.approx(0.25)
    assert heard.lead_s == pytest.approx(0.13)


def test_what_is_never_heard_is_never_heard() -> None:
    heard = play([Piece(0.1, sound(0.5, 0))], 0.0)
    assert math.isinf(heard.audible_s)
    assert math.isinf(lead_s(sound(0.5, 0)))
