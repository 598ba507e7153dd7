import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Frame, FrameAssembler, token_ids
from speech_server.tts.snac_stream import Pace, SnacSlices, SnacStream, Window
from tests.unit.speech_server.toy_codec import full_decode, loud_frames, toy_decode

SILENCE: Frame = (0,) * 7
EXACT = Pace(opening=())

splits = st.lists(st.integers(0, 9), max_size=40)
paces = st.builds(
    Pace,
    opening=st.lists(st.integers(1, 2), max_size=5).map(tuple),
    speed=st.floats(1, 5),
    longest=st.integers(1, 9),
)


def pieces(frames: list[Frame], sizes: list[int]) -> list[list[Frame]]:
    """The frames in pushes of these sizes; what is left comes one by one."""
    cut, at = [], 0
    for size in sizes:
        cut.append(frames[at : at + size])
        at += size
    return cut + [[frame] for frame in frames[at:]]


def streamed(frames: list[Frame], sizes: list[int], pace: Pace) -> PcmFloat:
    stream = SnacStream(toy_decode, pace)
    heard = [piece for part in pieces(frames, sizes) for piece in stream.push(part)]
    return np.concatenate([*heard, *stream.flush(), np.zeros(0, dtype=np.float32)])


@given(st.integers(0, 40), splits, st.integers(1, 9), st.floats(1, 3))
def test_any_arrival_is_heard_as_a_full_decode(
    count: int, sizes: list[int], longest: int, speed: float
) -> None:
    frames = loud_frames(count)
    heard = streamed(frames, sizes, Pace((), speed, longest))
    assert np.array_equal(heard, full_decode(frames))


@given(st.integers(0, 40), splits, paces)
def test_no_frame_is_lost_or_doubled_and_only_the_opening_is_inexact(
    count: int, sizes: list[int], pace: Pace
) -> None:
    frames = loud_frames(count)
    heard, full = streamed(frames, sizes, pace), full_decode(frames)
    assert heard.shape == full.shape
    opened = len(pace.opening) * FRAME_SAMPLES
    assert np.array_equal(heard[opened:], full[opened:])
    assert np.allclose(heard[:opened], full[:opened], atol=0.25)


@given(st.integers(0, 30), st.integers(1, 20), splits, paces)
def test_silence_before_the_first_sound_changes_nothing_of_this(
    silent: int, loud: int, sizes: list[int], pace: Pace
) -> None:
    frames = [SILENCE] * silent + loud_frames(loud)
    heard, full = streamed(frames, sizes, pace), full_decode(frames)
    assert heard.shape == full.shape
    # The frame before the first loud one may be audible by what follows it.
    opened = (silent + 1 + len(pace.opening)) * FRAME_SAMPLES
    assert np.array_equal(heard[opened:], full[opened:])


@given(st.integers(0, 20), paces)
@settings(max_examples=30)
def test_tokens_one_by_one_are_heard_as_a_full_decode(count: int, pace: Pace) -> None:
    frames = loud_frames(count)
    assembler, stream = FrameAssembler(), SnacStream(toy_decode, pace)
    heard = [np.zeros(0, dtype=np.float32)]
    for frame in frames:
        for id_ in token_ids(frame):
            heard += stream.push(assembler.push(id_))
    heard += stream.flush()
    assert sum(map(len, heard)) == count * FRAME_SAMPLES


def tokens_before_audio(pace: Pace | None, frames: list[Frame]) -> int:
    assembler, stream = FrameAssembler(), SnacStream(toy_decode, pace)
    for count, id_ in enumerate([id_ for frame in frames for id_ in token_ids(frame)], 1):
        if stream.push(assembler.push(id_)):
            return count
    raise AssertionError("no audio before the end")


def test_first_audio_comes_with_token_14() -> None:
    assert tokens_before_audio(None, loud_frames(9)) == 14
    assert tokens_before_audio(Pace(opening=(2,)), loud_frames(9)) == 21
    assert tokens_before_audio(EXACT, loud_frames(9)) == 28


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_shorter_than_the_reference_window_is_heard(count: int) -> None:
    frames = loud_frames(count)
    assert np.array_equal(streamed(frames, [], EXACT), full_decode(frames))


def test_an_empty_segment_is_no_audio() -> None:
    stream = SnacStream(toy_decode)
    assert stream.push([]) == []
    assert stream.flush() == []


def test_flush_begins_afresh() -> None:
    stream = SnacStream(toy_decode)
    first, second = loud_frames(10, seed=1), loud_frames(4, seed=2)
    for frames in (first, second):
        heard = np.concatenate(stream.push(frames) + stream.flush())
        assert np.array_equal(heard, full_decode(frames))


class Recorder:
    """Notes every window that is decoded."""

    def __init__(self) -> None:
        self.windows: list[Window] = []

    def __call__(self, window: Window) -> PcmFloat:
        self.windows.append(window)
        return toy_decode(window)

    @property
    def wanted(self) -> list[int]:
        return [window.samples // FRAME_SAMPLES for window in self.windows]


def test_slices_grow() -> None:
    recorder = Recorder()
    stream = SnacStream(recorder, Pace((), 2.0, 6))
    for frame in loud_frames(40):
        stream.push([frame])
    assert recorder.wanted == [1, 1, 2, 4, 6, 6, 6, 6]


def test_windows_stay_small_however_much_comes_at_once() -> None:
    recorder = Recorder()
    stream = SnacStream(recorder, Pace(longest=6))
    stream.push(loud_frames(500))
    stream.flush()
    assert max(len(window.codes) for window in recorder.windows) <= 6 + 3 + 3 + 1


def test_nothing_is_decoded_before_it_is_exact_but_the_opening() -> None:
    recorder = Recorder()
    stream = SnacStream(recorder, Pace(opening=(1, 2)))
    for frame in loud_frames(30):
        stream.push([frame])
    rights = [window.right for window in recorder.windows]
    assert rights[:2] == [1, 2]
    assert set(rights[2:]) == {3}
    # The second window decodes the first frame again, to fade from it.
    assert [window.left for window in recorder.windows][:4] == [0, 0, 2, 3]


def test_the_opening_waits_for_the_first_sound() -> None:
    recorder = Recorder()
    stream = SnacStream(recorder, Pace(opening=(1,)))
    for frame in [SILENCE] * 6 + loud_frames(10):
        stream.push([frame])
    rights = [window.right for window in recorder.windows]
    assert rights[:4] == [1, 1, 1, 1]
    assert set(rights[8:]) == {3}


def test_the_click_that_a_segment_opens_with_is_not_its_first_sound() -> None:
    windows: list[Window] = []

    def clicking(window: Window) -> PcmFloat:
        audio = toy_decode(window)
        if not windows:
            audio[:30] = 0.02
        windows.append(window)
        return audio

    stream = SnacStream(clicking, Pace(opening=(1,)))
    for frame in [SILENCE] * 6 + loud_frames(10):
        stream.push([frame])
    assert [window.right for window in windows[:6]] == [1] * 6


def test_no_sound_is_waited_for_longer_than_a_second() -> None:
    recorder = Recorder()
    stream = SnacStream(recorder)
    for _ in range(40):
        stream.push([SILENCE])
    rights = [window.right for window in recorder.windows]
    assert rights[:12] == [1] * 12
    assert set(rights[12:]) == {3}


def test_no_step_where_the_exact_frames_begin() -> None:
    frames = [(2000,) * 7] + [(4000,) * 7] * 8
    full = full_decode(frames)
    heard = streamed(frames, [], Pace(opening=(1,)))
    seam = slice(FRAME_SAMPLES - 5, FRAME_SAMPLES + 5)
    # Without the fade, the step would be what the two frames not looked at add.
    assert np.abs(heard[seam] - full[seam]).max() < 0.002
    assert np.abs(heard[: FRAME_SAMPLES - 240] - full[: FRAME_SAMPLES - 240]).max() > 0.02


@pytest.mark.parametrize(
    ("speed", "opening"),
    [
        (0.5, ()),
        (1.1, ()),
        (1.13, (2,) * 10),
        (1.5, (1, 1, 1, 2, 2)),
        (2.0, (1, 1, 2)),
        (3.0, (1, 2)),
        (50, (1,)),
        (float("inf"), (1,)),
    ],
)
def test_a_faster_model_is_exact_sooner(speed: float, opening: tuple[int, ...]) -> None:
    assert Pace.for_speed(speed).opening == opening


def test_what_is_reckoned_with_is_a_pace_for_its_speed() -> None:
    assert Pace() == Pace.for_speed(Pace().speed)


@given(st.one_of(st.floats(1.0, 8.0), st.just(float("inf"))), st.integers(1, 60))
def test_the_pace_for_a_speed_leaves_no_gap(speed: float, count: int) -> None:
    stream = SnacStream(toy_decode, Pace.for_speed(speed))
    play_head = 0.0  # frames of playing time at which the audio so far ends
    begun = False
    for arrived, frame in enumerate(loud_frames(count), 1):
        now = arrived / speed
        for piece in stream.push([frame]):
            if not begun:
                begun, play_head = True, now
            assert play_head >= now - 1e-9
            play_head += len(piece) / FRAME_SAMPLES


@pytest.mark.parametrize(
    "wrong",
    [
        {"opening": (0,)},
        {"opening": (3,)},
        {"opening": (1,) * 13},
        {"speed": 0.9},
        {"speed": float("nan")},
        {"longest": 0},
    ],
)
def test_an_impossible_pace_is_refused(wrong: dict) -> None:
    with pytest.raises(ValueError, match=r"at least 1|look-ahead|at most"):
        Pace(**wrong)


def test_audio_of_another_length_is_refused() -> None:
    stream = SnacStream(lambda window: toy_decode(window)[:-1], EXACT)
    with pytest.raises(EngineFailed, match="length"):
        stream.push(loud_frames(4))


def test_audio_must_be_taken_before_the_next_window() -> None:
    slices = SnacSlices(EXACT)
    slices.push(loud_frames(9))
    assert slices.next_window() is not None
    with pytest.raises(RuntimeError, match="not been taken"):
        slices.next_window()


def test_frames_may_come_while_a_window_is_decoded() -> None:
    frames = loud_frames(3)
    slices = SnacSlices(Pace(opening=(1,)))
    slices.push(frames[:2])
    window = slices.next_window()
    assert window is not None
    slices.push(frames[2:])
    slices.end()
    heard = [slices.take(toy_decode(window))]
    while (window := slices.next_window()) is not None:
        heard.append(slices.take(toy_decode(window)))
    assert sum(map(len, heard)) == 3 * FRAME_SAMPLES
    assert np.array_equal(
        np.concatenate(heard)[FRAME_SAMPLES:], full_decode(frames)[FRAME_SAMPLES:]
    )
