"""Both sides on one time line."""

import wave
from pathlib import Path

import numpy as np
import pytest

from voice_agent.caller.errors import BadInput
from voice_agent.caller.recording import JITTER_S, MAX_RECORDING_S, Recording
from voice_agent.caller.sound import FRAME_S, FRAME_SAMPLES, RATE_HZ, Pcm16


def frame(value: int) -> Pcm16:
    return np.full(FRAME_SAMPLES, value, np.int16)


def test_sides_are_placed_by_time_and_filled_up_with_silence(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "call.wav")
    for index in range(100):
        recording.add_caller(frame(1), 5.0 + index * FRAME_S)
    recording.add_agent(frame(2), 5.5)
    recording.save()
    with wave.open(str(tmp_path / "call.wav")) as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, RATE_HZ)
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2").reshape(-1, 2)
    assert samples.shape == (RATE_HZ, 2)
    assert (samples[:, 0] == 1).all()
    loud = np.flatnonzero(samples[:, 1])
    assert (loud[0], loud[-1]) == (RATE_HZ // 2, RATE_HZ // 2 + FRAME_SAMPLES - 1)
    assert list(tmp_path.iterdir()) == [tmp_path / "call.wav"]


def test_jitter_leaves_no_gap_and_no_sample_is_lost(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "call.wav")
    late_s = 0.0
    for index in range(50):
        late_s = JITTER_S * 0.9 if index % 7 == 0 else 0.0
        recording.add_agent(frame(index + 1), 1.0 + index * FRAME_S + late_s)
    agent = recording.samples()[:, 1]
    assert len(agent) == 50 * FRAME_SAMPLES
    assert agent.all()


def test_the_length_is_bounded(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "call.wav")
    recording.add_caller(frame(1), 0.0)
    recording.add_caller(frame(1), MAX_RECORDING_S + 1)
    assert len(recording.samples()) == FRAME_SAMPLES


def test_an_older_file_is_kept_when_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "call.wav"
    path.write_bytes(b"older")
    recording = Recording(path)
    recording.add_caller(frame(1), 0.0)
    (tmp_path / ".call.wav.part").mkdir()  # in the way of the new file
    with pytest.raises(BadInput, match="cannot write"):
        recording.save()
    assert path.read_bytes() == b"older"


def test_a_place_that_cannot_be_written_is_refused_before_the_call(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no folder"):
        Recording(tmp_path / "missing" / "call.wav")
    with pytest.raises(BadInput, match="is a folder"):
        Recording(tmp_path)


def test_nothing_heard_is_empty(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "call.wav")
    assert recording.is_empty
    recording.add_agent(frame(1), 0.0)
    assert not recording.is_empty
