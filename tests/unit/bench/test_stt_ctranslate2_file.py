import struct
from pathlib import Path

import pytest

from bench.stt.ctranslate2_file import UnreadableModel, read_model, write_model
from bench.stt.widened_whisper import MICRO_WHISPER

MODEL = MICRO_WHISPER / "model.bin"


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    write_model(tmp_path / "model.bin", read_model(MODEL))
    assert (tmp_path / "model.bin").read_bytes() == MODEL.read_bytes()


def test_an_alias_stands_for_its_variable() -> None:
    model = read_model(MODEL)
    assert "decoder/projection/weight" in model
    assert model["decoder/projection/weight"] is model["decoder/embeddings/weight"]


@pytest.mark.parametrize("kept", [0, 3, 20, 300, 100_000])
def test_half_a_file_is_refused(tmp_path: Path, kept: int) -> None:
    (tmp_path / "model.bin").write_bytes(MODEL.read_bytes()[:kept])
    with pytest.raises(UnreadableModel, match="ends in the middle"):
        read_model(tmp_path / "model.bin")


def test_another_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(struct.pack("=I", 5) + MODEL.read_bytes()[4:])
    with pytest.raises(UnreadableModel, match="binary version 5"):
        read_model(tmp_path / "model.bin")
