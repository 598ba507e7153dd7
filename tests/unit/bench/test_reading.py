"""What `bench.reading` counts, with readers that are told what to read."""

import numpy as np

from bench.offline_paths import PATHS
from bench.phone.lines import conversation
from bench.reading import compare
from speech_server.stt.engine import SAMPLE_RATE_HZ, Pcm


def test_every_reader_is_given_the_same_sound_of_each_path() -> None:
    given: dict[str, list[Pcm]] = {"right": [], "wrong": []}
    hello, *_ = conversation()

    def right(pcm: Pcm) -> str:
        given["right"].append(pcm)
        return hello.utterance.text

    def wrong(pcm: Pcm) -> str:
        given["wrong"].append(pcm)
        return "Hello, good afternoon all."

    scores = compare([hello], {"right": right, "wrong": wrong})

    assert [(one.path, one.reader) for one in scores] == [
        (path, reader) for path in PATHS for reader in ("right", "wrong")
    ]
    assert [(one.words, one.wrong) for one in scores] == [(3, 0), (3, 2)] * len(PATHS)
    for mine, theirs in zip(*given.values(), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_a_telephone_carries_nothing_above_four_kilohertz() -> None:
    def high(pcm: Pcm) -> float:
        power = np.abs(np.fft.rfft(pcm)) ** 2
        above = np.fft.rfftfreq(len(pcm), 1 / SAMPLE_RATE_HZ) > 4200
        return float(power[above].sum() / power.sum())

    _, question, *_ = conversation()
    shares = {path: high(heard(question)) for path, heard in PATHS.items()}
    assert shares["telephone"] < shares["browser"] / 100
