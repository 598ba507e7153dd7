"""The noise of `bench.noise`, and what is counted in it."""

from collections.abc import Sequence

import numpy as np
import pytest

from bench.noise import WAYS, Noises, measure
from bench.phone.lines import conversation
from bench.phone.narrowband import for_the_line
from speech_server.stt.engine import Transcript, Utterance
from voice_agent.caller.sound import RATE_HZ

KINDS = ("white", "pink", "car", "voices")


@pytest.fixture(scope="module")
def noises() -> Noises:
    return Noises(conversation())


@pytest.mark.parametrize("kind", KINDS)
def test_noise_has_one_level_and_comes_again_as_it_was(noises: Noises, kind: str) -> None:
    noise = noises.make(kind, RATE_HZ, 1)
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(1)
    np.testing.assert_array_equal(noise, noises.make(kind, RATE_HZ, 1))
    assert not np.array_equal(noise, noises.make(kind, RATE_HZ, 2))


def test_a_car_is_heard_below_and_white_noise_everywhere(noises: Noises) -> None:
    def low(kind: str) -> float:
        power = np.abs(np.fft.rfft(noises.make(kind, RATE_HZ, 1))) ** 2
        return float(power[np.fft.rfftfreq(RATE_HZ, 1 / RATE_HZ) < 300].sum() / power.sum())

    assert low("white") < 0.05 < 0.7 < low("car")


class Deaf:
    """Hears the same in everything, and notes what it was given."""

    def __init__(self) -> None:
        self.given: list[Utterance] = []

    def transcribe(self, batch: Sequence[Utterance]) -> list[Transcript]:
        self.given += batch
        return [Transcript("Hello, good evening.") for _ in batch]


def test_words_are_counted_for_every_way(noises: Noises) -> None:
    engine = Deaf()
    hello = for_the_line(conversation()[0])
    scores = measure(engine, noises, [hello], "white", 10)
    assert [score.way for score in scores] == list(WAYS)
    assert [(score.words, score.wrong) for score in scores] == [(3, 1)] * len(WAYS)
    assert all(score.windows > 0 == score.taken_for_speech for score in scores)
    never, always, on_noisy_lines = (utterance.pcm for utterance in engine.given)
    assert not np.array_equal(never, always)
    assert not np.array_equal(never, on_noisy_lines)


def test_a_quiet_room_is_left_alone_and_has_no_noise_to_listen_to(noises: Noises) -> None:
    engine = Deaf()
    scores = measure(engine, noises, [for_the_line(conversation()[0])], "quiet room", None)
    assert not any(score.windows for score in scores)
    never, _, on_noisy_lines = (utterance.pcm for utterance in engine.given)
    np.testing.assert_array_equal(never, on_noisy_lines[: len(never)])
