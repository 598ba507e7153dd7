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


def test_frames_keep_their_shape() -> None:
    suppressor = NoiseSuppressor()
    given = frame(np.zeros(960), channels=2)
    processed = suppressor._process(given)
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
