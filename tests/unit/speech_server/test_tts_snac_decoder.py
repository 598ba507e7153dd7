import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speech_server.audio.pcm import PcmFloat
from speech_server.errors import EngineFailed
from speech_server.tts import snac_decoder
from speech_server.tts.orpheus_codes import FRAME_SAMPLES, Codes, codes_of
from speech_server.tts.snac_decoder import (
    MAX_WINDOW_FRAMES,
    OnnxSnac,
    SnacUnavailable,
    load_snac,
)
from speech_server.tts.snac_stream import Pace, SnacStream, Window
from tests.tiny_voice import SNAC_FOLDER

MID_STREAM_ERROR = 1e-4
"""The bound of the requirements; what is found is 5e-7, which is rounding."""


@pytest.fixture(scope="module")
def snac() -> OnnxSnac:
    decoder = load_snac(SNAC_FOLDER, "cpu")
    assert isinstance(decoder, OnnxSnac)
    return decoder


def random_codes(frames: int, seed: int = 3) -> Codes:
    return np.random.default_rng(seed).integers(0, 4096, (frames, 7))


def decode_all(snac: OnnxSnac, codes: Codes) -> PcmFloat:
    return snac.decode(Window(codes))


def streamed(snac: OnnxSnac, codes: Codes, sizes: list[int], pace: Pace) -> PcmFloat:
    stream = SnacStream(snac.decode, pace)
    heard = [np.zeros(0, dtype=np.float32)]
    at = 0
    for size in [*sizes, *[1] * len(codes)]:
        heard += stream.push([tuple(frame) for frame in codes[at : at + size].tolist()])
        at += size
    return np.concatenate(heard + stream.flush())


@pytest.mark.parametrize("frames", [1, 2, 3, 4, 7, 20])
def test_audio_has_2048_samples_a_frame(snac: OnnxSnac, frames: int) -> None:
    audio = decode_all(snac, random_codes(frames))
    assert audio.shape == (frames * FRAME_SAMPLES,)
    assert audio.dtype == np.float32
    assert np.abs(audio).max() <= 1


@pytest.mark.parametrize(
    ("first", "count", "left", "right"),
    [(0, 1, 0, 3), (1, 1, 1, 3), (2, 2, 2, 3), (5, 6, 3, 3), (16, 3, 3, 1), (19, 1, 3, 0)],
)
def test_three_frames_of_context_are_exact(
    snac: OnnxSnac, first: int, count: int, left: int, right: int
) -> None:
    codes = random_codes(20)
    full = decode_all(snac, codes)
    audio = snac.decode(Window(codes[first - left : first + count + right], left, right))
    wanted = full[first * FRAME_SAMPLES : (first + count) * FRAME_SAMPLES]
    assert np.abs(audio - wanted).max() < 1e-6


def test_less_context_is_not(snac: OnnxSnac) -> None:
    # Otherwise the test above would prove nothing.
    codes = random_codes(20)
    wanted = decode_all(snac, codes)[10 * FRAME_SAMPLES : 11 * FRAME_SAMPLES]
    errors = [
        np.abs(snac.decode(Window(codes[7 : 11 + right], 3, right)) - wanted).max()
        for right in (0, 1, 2)
    ]
    assert errors[0] > errors[1] > errors[2] > 1e-6


@given(st.integers(1, 24), st.lists(st.integers(0, 6), max_size=12), st.floats(1, 4))
@settings(max_examples=25, deadline=None)
def test_any_arrival_is_heard_as_a_full_decode(
    snac: OnnxSnac, frames: int, sizes: list[int], speed: float
) -> None:
    codes = random_codes(frames)
    heard = streamed(snac, codes, sizes, Pace((), speed))
    full = decode_all(snac, codes)
    assert heard.shape == full.shape
    assert np.abs(heard - full).max() <= MID_STREAM_ERROR


@given(st.integers(1, 24), st.lists(st.integers(0, 6), max_size=12))
@settings(max_examples=15, deadline=None)
def test_after_the_opening_all_is_exact(snac: OnnxSnac, frames: int, sizes: list[int]) -> None:
    codes = random_codes(frames)
    heard, full = streamed(snac, codes, sizes, Pace((1, 2))), decode_all(snac, codes)
    assert heard.shape == full.shape
    # Random codes are audible at once: the opening is the first two frames.
    error = np.abs(heard - full)
    assert error[2 * FRAME_SAMPLES :].max(initial=0) <= MID_STREAM_ERROR


def test_a_batch_is_its_windows_one_by_one(snac: OnnxSnac) -> None:
    windows = [Window(random_codes(size, seed=size), 0, size // 2) for size in (1, 4, 9, 4)]
    for window, audio in zip(windows, snac.decode_batch(windows), strict=True):
        assert np.array_equal(audio, snac.decode(window))


@pytest.mark.parametrize(
    ("codes", "left", "right", "fault"),
    [
        (np.full((3, 7), 4096), 0, 0, "0..4095"),
        (np.full((3, 7), -1), 0, 0, "0..4095"),
        (np.zeros((3, 6), dtype=np.int64), 0, 0, "int64"),
        (np.zeros(7, dtype=np.int64), 0, 0, "int64"),
        (np.zeros((3, 7), dtype=np.float32), 0, 0, "int64"),
        (np.zeros((0, 7), dtype=np.int64), 0, 0, "no frame"),
        (np.zeros((6, 7), dtype=np.int64), 3, 3, "no frame"),
        (np.zeros((6, 7), dtype=np.int64), -1, 3, "no frame"),
        (np.zeros((MAX_WINDOW_FRAMES + 1, 7), dtype=np.int64), 0, 0, "at most"),
    ],
)
def test_a_malformed_window_is_refused_and_nothing_breaks(
    snac: OnnxSnac, codes: Codes, left: int, right: int, fault: str
) -> None:
    good = Window(random_codes(2))
    before = snac.decode(good)
    with pytest.raises(EngineFailed, match=fault):
        snac.decode(Window(codes, left, right))
    with pytest.raises(EngineFailed, match=fault):
        snac.decode_batch([good, Window(codes, left, right)])
    assert np.array_equal(snac.decode(good), before)


def test_the_edges_of_the_codebook_can_be_heard(snac: OnnxSnac) -> None:
    edges = codes_of([(0,) * 7, (4095,) * 7, (0, 4095, 0, 4095, 0, 4095, 0)])
    assert np.isfinite(decode_all(snac, edges)).all()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    copy = tmp_path / "snac"
    shutil.copytree(SNAC_FOLDER, copy)
    return copy


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(SnacUnavailable, match=r"no directory .*nowhere"):
        load_snac(tmp_path / "nowhere")


def test_an_empty_folder_says_what_it_needs(tmp_path: Path) -> None:
    with pytest.raises(SnacUnavailable, match=r"neither decoder\.onnx nor config\.json and"):
        load_snac(tmp_path)


def test_the_file_may_be_given_itself(folder: Path) -> None:
    assert isinstance(load_snac(folder / "decoder.onnx", "cpu"), OnnxSnac)


@pytest.mark.parametrize("kept", [0, 10, 100_000])
def test_a_damaged_file_is_refused(folder: Path, kept: int) -> None:
    file = folder / "decoder.onnx"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(SnacUnavailable, match="cannot be loaded"):
        load_snac(folder, "cpu")


def test_a_gpu_needs_the_weights(folder: Path) -> None:
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(SnacUnavailable, match="a GPU needs"):
        load_snac(folder, "cuda")


def test_without_torch_and_without_onnx_the_fix_is_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "decoder.onnx").unlink()
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    with pytest.raises(SnacUnavailable, match=r"parley\[orpheus\]"):
        load_snac(folder, "cpu")


def test_a_model_of_another_rate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        snac_decoder.OnnxSnac, "decode", lambda self, window: np.zeros(7, dtype=np.float32)
    )
    with pytest.raises(SnacUnavailable, match="something else"):
        load_snac(SNAC_FOLDER, "cpu")
