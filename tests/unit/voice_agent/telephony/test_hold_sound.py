from itertools import islice

import numpy as np
import pytest

from voice_agent.telephony import hold_sound
from voice_agent.telephony.hold_sound import AHEAD_S, LEVEL, hold_frames, hold_phrase, paced

RATE = 24_000


def first(seconds: float) -> np.ndarray:
    frames = islice(hold_frames(RATE), round(seconds / 0.02))
    return np.concatenate([np.frombuffer(frame.data, np.int16) for frame in frames])


def test_it_is_never_silent_for_long() -> None:
    audio = np.abs(first(30.0).astype(np.float64))
    loud = audio > 0.1 * LEVEL * 32767
    silent_runs = np.diff(np.flatnonzero(loud)) / RATE
    assert silent_runs.max() < 0.25
    assert np.flatnonzero(loud)[0] / RATE < 0.25


def test_it_goes_on_where_it_ended() -> None:
    phrase = hold_phrase(RATE)
    audio = first(2.5 * len(phrase) / RATE)
    assert np.array_equal(audio[: len(phrase)], phrase)
    assert np.array_equal(audio[len(phrase) : 2 * len(phrase)], phrase)


def test_it_does_not_click_and_is_quiet() -> None:
    phrase = hold_phrase(RATE).astype(np.float64)
    steps = np.abs(np.diff(np.append(phrase, phrase[0])))
    assert steps.max() < 0.03 * 32767
    assert np.abs(phrase).max() <= LEVEL * 32767


def test_a_telephone_carries_all_of_it() -> None:
    phrase = hold_phrase(RATE).astype(np.float64)
    energy = np.abs(np.fft.rfft(phrase)) ** 2
    hertz = np.fft.rfftfreq(len(phrase), 1 / RATE)
    assert energy[(hertz > 300) & (hertz < 3400)].sum() / energy.sum() > 0.99


async def test_an_output_that_takes_everything_gets_it_as_it_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits_s: list[float] = []

    async def sleep(seconds: float) -> None:
        waits_s.append(seconds)

    monkeypatch.setattr(hold_sound.asyncio, "sleep", sleep)
    taken = [frame async for frame in paced(islice(hold_frames(RATE), 100))]
    assert len(taken) == 100
    # the clock hardly moves here, so each frame past the first half second has to be waited for
    at_once = 100 - len(waits_s)
    assert AHEAD_S <= at_once * 0.02 <= AHEAD_S + 0.2
    assert waits_s == sorted(waits_s)
