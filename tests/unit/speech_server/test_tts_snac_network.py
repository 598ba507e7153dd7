"""SNAC with torch, where it is installed (`parley[orpheus]`)."""

import json
import os
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
snac = pytest.importorskip("snac")

from speech_server.errors import EngineFailed  # noqa: E402
from speech_server.tts.orpheus_codes import codes_of, to_levels  # noqa: E402
from speech_server.tts.snac_decoder import (  # noqa: E402
    ONNX_FILE,
    OnnxSnac,
    SnacUnavailable,
    load_snac,
)
from speech_server.tts.snac_export import export  # noqa: E402
from speech_server.tts.snac_network import UnsuitableModel, read_snac  # noqa: E402
from speech_server.tts.snac_stream import Window  # noqa: E402
from speech_server.tts.snac_torch import TorchSnac  # noqa: E402
from tests.tiny_voice import SNAC_FOLDER, sentences  # noqa: E402

CODES = codes_of(sentences()["Please tell me your name."])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The tiny voice in SNAC's own format only."""
    copy = tmp_path / "snac"
    shutil.copytree(SNAC_FOLDER, copy)
    (copy / ONNX_FILE).unlink()
    return copy


def test_it_plays_what_snac_itself_plays() -> None:
    # The tiny voice's noise has no weight, so that SNAC's own decode is without it as well.
    stock = snac.SNAC.from_pretrained(str(SNAC_FOLDER))
    with torch.inference_mode():
        levels = [torch.from_numpy(level)[None] for level in to_levels(CODES)]
        wanted = stock.decode(levels)[0, 0].numpy()
    assert np.abs(TorchSnac(SNAC_FOLDER, "cpu").decode(Window(CODES)) - wanted).max() < 1e-6


def test_windows_are_exact() -> None:
    decoder = TorchSnac(SNAC_FOLDER, "cpu")
    full = decoder.decode(Window(CODES)).reshape(len(CODES), -1)
    windows = [Window(CODES[max(0, i - 3) : i + 4], min(3, i), 3) for i in range(len(CODES) - 3)]
    for index, audio in enumerate(decoder.decode_batch(windows)):
        assert np.abs(audio - full[index]).max() < 1e-6


def test_a_batch_of_many_shapes_keeps_its_order() -> None:
    decoder = TorchSnac(SNAC_FOLDER, "cpu")
    windows = [Window(CODES[:size], 0, size // 2) for size in (3, 7, 3, 1, 7)]
    for window, audio in zip(windows, decoder.decode_batch(windows), strict=True):
        assert np.array_equal(audio, decoder.decode(window))


def test_a_malformed_window_is_refused() -> None:
    with pytest.raises(EngineFailed, match="no frame"):
        TorchSnac(SNAC_FOLDER, "cpu").decode(Window(CODES[:3], 3, 0))


def test_without_an_onnx_file_a_cpu_uses_torch(folder: Path) -> None:
    assert isinstance(load_snac(folder, "cpu"), TorchSnac)


def test_the_export_plays_the_same(folder: Path) -> None:
    export(folder, folder / ONNX_FILE)
    decoder = load_snac(folder, "cpu")
    assert isinstance(decoder, OnnxSnac)
    for window in (Window(CODES), Window(CODES[4:14], 3, 2)):
        wanted = TorchSnac(folder, "cpu").decode(window)
        assert np.abs(decoder.decode(window) - wanted).max() < 1e-6


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"sampling_rate": 44_100}, "sampling_rate is 44100"),
        ({"vq_strides": [8, 4, 2]}, "vq_strides"),
        ({"attn_window_size": 32}, "attn_window_size|Missing key"),
        ({"decoder_dim": 64}, "size mismatch"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_another_model_is_refused(folder: Path, change: dict[str, Any], fault: str) -> None:
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UnsuitableModel, match=fault):
        read_snac(folder)
    with pytest.raises(SnacUnavailable, match=fault):
        load_snac(folder, "cpu")


@pytest.mark.parametrize("config", ["", "[]", "null", "{"])
def test_a_broken_config_is_refused(folder: Path, config: str) -> None:
    (folder / "config.json").write_text(config)
    with pytest.raises(UnsuitableModel):
        read_snac(folder)


@pytest.mark.parametrize("kept", [0, 100, 100_000])
def test_damaged_weights_are_refused(folder: Path, kept: int) -> None:
    file = folder / "pytorch_model.bin"
    file.write_bytes(file.read_bytes()[:kept])
    with pytest.raises(UnsuitableModel):
        read_snac(folder)


class Malicious:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.mkdir, (str(self.target),)

    def __init__(self, target: Path) -> None:
        self.target = target


def test_a_file_of_weights_cannot_run_code(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "owned"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Malicious(target), protocol=2))
    with pytest.raises(UnsuitableModel):
        read_snac(folder)
    assert not target.exists()
