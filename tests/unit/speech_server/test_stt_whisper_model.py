import json
import shutil
import sys
from pathlib import Path

import ctranslate2
import pytest

from speech_server.stt.whisper_model import WhisperUnavailable, load_whisper
from tests.unit.speech_server.micro_whisper import MODEL


@pytest.fixture
def own_copy(tmp_path: Path) -> Path:
    """The model's files, to be broken."""
    return Path(shutil.copytree(MODEL, tmp_path / "model"))


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty cache and a hub that cannot be reached, whatever this machine has."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_a_directory_is_loaded_on_the_device_there_is() -> None:
    model = load_whisper(str(MODEL), compute_type="default")
    assert model.device in {"cpu", "cuda"}
    assert model.multilingual
    assert model.alignable
    model.close()


@pytest.mark.parametrize("name", ["/no/such/folder", "./none", "~/none"])
def test_a_directory_that_is_not_there_is_named(name: str) -> None:
    with pytest.raises(WhisperUnavailable, match="no such directory"):
        load_whisper(name, device="cpu")


@pytest.mark.parametrize("file", ["config.json", "model.bin", "tokenizer.json"])
def test_a_missing_file_is_named_with_the_way_to_make_it(own_copy: Path, file: str) -> None:
    (own_copy / file).unlink()
    with pytest.raises(WhisperUnavailable, match=rf"{file} missing.*ct2-transformers-converter"):
        load_whisper(str(own_copy), device="cpu")


def test_a_damaged_model_says_so(own_copy: Path) -> None:
    (own_copy / "model.bin").write_bytes(b"not a model")
    with pytest.raises(WhisperUnavailable, match="cannot be loaded"):
        load_whisper(str(own_copy), device="cpu")


@pytest.mark.usefixtures("offline")
def test_a_hub_model_is_not_fetched_unless_allowed() -> None:
    with pytest.raises(WhisperUnavailable, match="PARLEY_STT_DOWNLOAD=1"):
        load_whisper("Systran/faster-whisper-tiny", device="cpu")


@pytest.mark.usefixtures("offline")
def test_a_hub_that_cannot_be_reached_says_so() -> None:
    with pytest.raises(WhisperUnavailable, match="check the name and the connection"):
        load_whisper("Systran/faster-whisper-tiny", device="cpu", allow_download=True)


def test_an_unknown_name_says_so() -> None:
    with pytest.raises(WhisperUnavailable, match="neither a directory nor a model"):
        load_whisper("whisper-that-nobody-made", device="cpu")


def test_a_gpu_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctranslate2, "get_cuda_device_count", lambda: 0)
    with pytest.raises(WhisperUnavailable, match="finds no GPU"):
        load_whisper(str(MODEL), device="cuda")


def test_a_compute_type_that_the_device_lacks_lists_those_it_has() -> None:
    with pytest.raises(WhisperUnavailable, match=r"supports .*int8"):
        load_whisper(str(MODEL), device="cpu", compute_type="float8")


@pytest.mark.parametrize("library", ["ctranslate2", "faster_whisper"])
def test_a_missing_library_names_the_fix(monkeypatch: pytest.MonkeyPatch, library: str) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(WhisperUnavailable, match="make run"):
        load_whisper(str(MODEL), device="cpu")


def test_a_model_without_alignment_heads_has_no_word_times(own_copy: Path) -> None:
    config = json.loads((own_copy / "config.json").read_text())
    config["alignment_heads"] = None
    (own_copy / "config.json").write_text(json.dumps(config))
    model = load_whisper(str(own_copy), device="cpu")
    assert not model.alignable
    model.close()
