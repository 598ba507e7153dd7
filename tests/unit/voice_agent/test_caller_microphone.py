"""Pacing and stamps, on a clock that moves only when told."""

import asyncio
from dataclasses import dataclass, field

import numpy as np
import pytest

from voice_agent.caller.microphone import MAX_CATCH_UP_S, Microphone, Spoken
from voice_agent.caller.sound import FRAME_S, FRAME_SAMPLES, NOISE_FLOOR_RMS, Pcm16, rms
from voice_agent.caller.wav import Utterance


@dataclass
class Line:
    """Virtual time and everything that was sent in it."""

    now_s: float = 100.0
    sent: list[tuple[Pcm16, float]] = field(default_factory=list)
    send_takes_s: dict[int, float] = field(default_factory=dict)
    """Frames whose sending takes time, by index."""
    limit: int = 200

    def clock(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        await asyncio.sleep(0)

    async def send(self, frame: Pcm16, at_s: float) -> None:
        assert at_s == self.now_s
        self.sent.append((frame, at_s))
        self.now_s += self.send_takes_s.get(len(self.sent) - 1, 0.0)
        if len(self.sent) >= self.limit:
            await asyncio.Event().wait()
        await asyncio.sleep(0)


def utterance(last_audible: int, length: int) -> Utterance:
    samples = np.zeros(length, np.int16)
    samples[: last_audible + 1] = 1000
    return Utterance("a.wav", "a", samples, last_audible)


async def speak(line: Line, *utterances: Utterance) -> list[Spoken]:
    microphone = Microphone(line.send, clock=line.clock, sleep=line.sleep)
    pump = asyncio.create_task(microphone.run())
    spoken = [await microphone.speak(words) for words in utterances]
    pump.cancel()
    await asyncio.gather(pump, return_exceptions=True)
    return spoken


async def test_frames_leave_every_ten_milliseconds() -> None:
    line = Line()
    await speak(line, utterance(FRAME_SAMPLES * 20, FRAME_SAMPLES * 30))
    times = [at_s for _, at_s in line.sent]
    assert np.allclose(np.diff(times), FRAME_S)
    assert all(
        frame.shape == (FRAME_SAMPLES,) and frame.dtype == np.int16 for frame, _ in line.sent
    )


@pytest.mark.parametrize(
    ("last_audible", "frame_index"),
    [(0, 0), (FRAME_SAMPLES - 1, 0), (FRAME_SAMPLES, 1), (FRAME_SAMPLES * 7 + 13, 7)],
)
async def test_the_end_is_when_the_frame_with_the_last_audible_sample_left(
    last_audible: int, frame_index: int
) -> None:
    line = Line()
    # the silence at the end of a recording is sent, and is no speech
    (spoken,) = await speak(line, utterance(last_audible, FRAME_SAMPLES * 12 + 5))
    loud = [at_s for frame, at_s in line.sent if rms(frame) > 10 * NOISE_FLOOR_RMS]
    assert spoken.started_s == loud[0]
    assert spoken.ended_s == loud[-1]
    assert spoken.ended_s - spoken.started_s == pytest.approx(frame_index * FRAME_S)


async def test_every_sample_is_sent_once_and_in_order_on_a_noise_floor() -> None:
    line = Line()
    samples = np.arange(1, FRAME_SAMPLES * 3 + 50, dtype=np.int16)
    await speak(line, Utterance("a.wav", "a", samples, len(samples) - 1))
    sent = np.concatenate([frame for frame, _ in line.sent])
    start = next(i for i, (f, _) in enumerate(line.sent) if rms(f) > 50) * FRAME_SAMPLES
    difference = sent[start : start + len(samples)] - samples
    assert rms(difference) == pytest.approx(NOISE_FLOOR_RMS, rel=0.2)
    assert abs(int(difference.max())) < 6 * NOISE_FLOOR_RMS


async def test_speech_at_full_scale_does_not_wrap_round() -> None:
    line = Line()
    samples = np.full(FRAME_SAMPLES * 2, 2**15 - 1, np.int16)
    await speak(line, Utterance("a.wav", "a", samples, len(samples) - 1))
    loud = [frame for frame, _ in line.sent if rms(frame) > 1000]
    assert len(loud) == 2
    assert min(int(frame.min()) for frame in loud) > 32_000


async def test_a_late_frame_is_told_and_the_next_ones_catch_up() -> None:
    line = Line(send_takes_s={5: 0.035})
    (spoken,) = await speak(line, utterance(FRAME_SAMPLES * 20, FRAME_SAMPLES * 21))
    assert spoken.late_s == pytest.approx(0.025)
    times = [at_s for _, at_s in line.sent]
    assert times[20] - times[0] == pytest.approx(20 * FRAME_S)


async def test_after_a_long_stop_the_missed_frames_are_left_out() -> None:
    line = Line(send_takes_s={5: 10.0})
    (spoken,) = await speak(line, utterance(FRAME_SAMPLES * 20, FRAME_SAMPLES * 21))
    assert spoken.late_s > MAX_CATCH_UP_S
    times = [at_s for _, at_s in line.sent]
    assert np.allclose(np.diff(times)[6:], FRAME_S)  # no burst


async def test_one_utterance_at_a_time() -> None:
    line = Line()
    microphone = Microphone(line.send, clock=line.clock, sleep=line.sleep)
    first = asyncio.create_task(microphone.speak(utterance(5, 50)))
    await asyncio.sleep(0)
    with pytest.raises(RuntimeError, match="one utterance"):
        await microphone.speak(utterance(5, 50))
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    # a cancelled utterance leaves the line free
    pump = asyncio.create_task(microphone.run())
    await microphone.speak(utterance(5, 50))
    pump.cancel()
    await asyncio.gather(pump, return_exceptions=True)


async def test_a_line_that_breaks_ends_the_utterance() -> None:
    async def broken(frame: Pcm16, at_s: float) -> None:
        raise OSError("gone")

    microphone = Microphone(broken, clock=Line().clock)
    pump = asyncio.create_task(microphone.run())
    with pytest.raises(ConnectionError):
        await microphone.speak(utterance(5, 50))
    with pytest.raises(OSError, match="gone"):
        await pump


async def test_the_line_is_never_digital_zero() -> None:
    line = Line()
    await speak(line, utterance(0, 10), utterance(0, FRAME_SAMPLES * 5))
    assert len(line.sent) == 6
    assert all(frame.any() for frame, _ in line.sent)
    noise = np.concatenate([frame for frame, _ in line.sent[2:]])
    assert rms(noise) == pytest.approx(NOISE_FLOOR_RMS, rel=0.2)
