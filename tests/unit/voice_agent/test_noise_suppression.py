from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from livekit import rtc

from voice_agent.noise_suppression import NoiseSuppressor, suppress_noise


def frame(samples: np.ndarray, rate: int = 24_000, channels: int = 1) -> rtc.AudioFrame:
    pcm = samples.astype(np.int16)
    return rtc.AudioFrame(pcm.tobytes(), rate, channels, len(pcm) // channels)


def rms(frames: list[rtc.AudioFrame]) -> float:
    samples = np.concatenate([np.frombuffer(f.data, dtype=np.int16) for f in frames])
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2)))


@pytest.mark.parametrize("rate", [16_000, 24_000, 48_000])
def test_steady_noise_is_lowered_and_a_voice_is_not(rate: int) -> None:
    suppressor = NoiseSuppressor()
    random, size = np.random.default_rng(0), rate // 50
    noise = [frame(random.normal(0, 1000, size), rate) for _ in range(150)]
    cleaned = [suppressor._process(f) for f in noise]
    assert rms(cleaned[100:]) < 0.5 * rms(noise[100:])

    tone = [
        frame(8000 * np.sin(2 * np.pi * 440 * (np.arange(size) + i * size) / rate), rate)
        for i in range(20)
    ]
    heard = [suppressor._process(f) for f in tone]
    assert rms(heard[5:]) > 0.7 * rms(tone[5:])


def noise(level_dbfs: float, seconds: float, seed: int = 0) -> list[rtc.AudioFrame]:
    random, level = np.random.default_rng(seed), 2**15 * 10 ** (level_dbfs / 20)
    return [frame(random.normal(0, level, 480)) for _ in range(round(50 * seconds))]


def test_a_quiet_line_is_left_alone() -> None:
    suppressor = NoiseSuppressor()
    assert all(suppressor._process(given) is given for given in noise(-55, 5))


def test_a_voice_on_a_quiet_line_is_no_noise() -> None:
    suppressor = NoiseSuppressor()
    word, gap = noise(-20, 0.4), noise(-70, 0.1)
    assert all(suppressor._process(given) is given for given in gap + (word + gap) * 20)


def test_it_begins_with_the_noise_and_ends_with_it() -> None:
    suppressor = NoiseSuppressor()
    quiet, loud = noise(-60, 5), noise(-35, 5, seed=1)
    for given in quiet:
        suppressor._process(given)
    cleaned = [suppressor._process(given) for given in loud]
    assert cleaned[0] is loud[0]
    assert rms(cleaned[200:]) < 0.5 * rms(loud[200:])
    # Between the two levels it goes on as it was.
    between = noise(-47, 5, seed=2)
    assert not any(suppressor._process(given) is given for given in between)
    switching = [suppressor._process(given) for given in quiet[:10]]
    assert switching[0] is not quiet[0]
    assert all(suppressor._process(given) is given for given in quiet[10:])
    assert all(suppressor._process(given) is given for given in between)


def test_frames_keep_their_shape() -> None:
    suppressor = NoiseSuppressor()
    given = frame(np.random.default_rng(0).normal(0, 1000, 960), channels=2)
    for _ in range(5):
        processed = suppressor._process(given)
    assert processed is not given
    assert (processed.sample_rate, processed.num_channels, processed.samples_per_channel) == (
        24_000,
        2,
        480,
    )


@pytest.mark.parametrize("samples", [1, 100, 241])
def test_odd_frames_pass_untouched(samples: int) -> None:
    given = frame(np.arange(samples))
    assert NoiseSuppressor()._process(given) is given


def test_a_fault_of_the_library_leaves_the_caller_audible(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("bad rate")

    suppressor = NoiseSuppressor()
    monkeypatch.setattr(rtc.AudioProcessingModule, "process_stream", fail)
    given = frame(np.ones(480))
    assert suppressor._process(given) is given
    assert not suppressor.enabled
    assert suppressor._process(given) is given
    assert len(caplog.records) == 1


def test_it_can_be_switched_off_and_closed() -> None:
    suppressor = NoiseSuppressor()
    assert suppressor.enabled
    suppressor.enabled = False
    assert not suppressor.enabled
    suppressor.enabled = True
    suppressor._close()
    assert not suppressor.enabled


@pytest.mark.parametrize(
    ("kind", "suppressed"),
    [
        (rtc.ParticipantKind.PARTICIPANT_KIND_SIP, True),
        (rtc.ParticipantKind.PARTICIPANT_KIND_STANDARD, False),
    ],
)
def test_only_telephones_need_it(kind: Any, suppressed: bool) -> None:
    caller: Any = SimpleNamespace(participant=SimpleNamespace(kind=kind), track=None)
    assert isinstance(suppress_noise(caller), NoiseSuppressor) is suppressed
