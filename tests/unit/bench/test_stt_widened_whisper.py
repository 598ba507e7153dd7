import wave
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bench.stt import widened_whisper as module
from bench.stt.ctranslate2_file import read_model
from bench.stt.widened_whisper import (
    DIMENSIONS,
    MICRO_WHISPER,
    WhisperDimensions,
    widen,
    widened_whisper,
)
from speech_server.stt.engine import Transcript, Utterance
from speech_server.stt.whisper import WhisperEngine, WhisperOptions

CONVERSATION = sorted((Path(__file__).parents[2] / "fixtures" / "conversation").glob("*.wav"))[:3]


def utterances() -> list[Utterance]:
    audio = []
    for path in CONVERSATION:
        with wave.open(str(path)) as file:
            assert file.getframerate() == 16_000
            pcm = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        audio.append(Utterance(pcm.astype(np.float32) / 2**15, "en", None))
    return audio


def heard(model: Path) -> Sequence[Transcript | Exception]:
    engine = WhisperEngine(
        WhisperOptions(str(model), "cpu", cpu_threads=1, shortest_window_s=2, word_times=True)
    )
    engine.load()
    try:
        return engine.transcribe(utterances())
    finally:
        engine.close()


@pytest.mark.parametrize(
    "dimensions",
    [
        WhisperDimensions(width=128, heads=4, layers=(3, 2), vocabulary=2500),
        WhisperDimensions(width=192, heads=6, layers=(2, 4), vocabulary=2121),
        DIMENSIONS["tiny"],
    ],
    ids=lambda dimensions: str(dimensions.width),
)
def test_the_wide_model_hears_what_the_small_one_hears(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dimensions: WhisperDimensions
) -> None:
    monkeypatch.setitem(DIMENSIONS, "tried", dimensions)
    wide = heard(widened_whisper("tried", tmp_path))
    for small_one, wide_one, path in zip(heard(MICRO_WHISPER), wide, CONVERSATION, strict=True):
        assert isinstance(small_one, Transcript)
        assert isinstance(wide_one, Transcript)
        assert wide_one.text == path.with_suffix(".txt").read_text(encoding="utf-8").strip()
        assert wide_one.confidence == pytest.approx(small_one.confidence, abs=0.01)
        assert small_one.words
        assert wide_one.words
        assert wide_one.words[0].start_s == pytest.approx(small_one.words[0].start_s, abs=0.1)


def test_its_matrices_have_the_published_sizes() -> None:
    tiny = widen(read_model(MICRO_WHISPER / "model.bin"), DIMENSIONS["tiny"])
    assert tiny["decoder/embeddings/weight"].shape == (51_865, 384)
    assert tiny["encoder/conv2/weight"].shape == (384, 384, 3)
    assert tiny["encoder/layer_3/self_attention/linear_0/weight"].shape == (3 * 384, 384)
    assert tiny["decoder/layer_3/attention/linear_1/weight"].shape == (2 * 384, 384)
    assert tiny["decoder/layer_3/ffn/linear_0/weight"].shape == (1536, 384)
    assert "encoder/layer_4/ffn/linear_0/weight" not in tiny
    assert all(
        np.count_nonzero(value) > 0.9 * value.size
        for value in tiny.variables.values()
        if value.dtype == np.int8 and value.ndim
    )


def test_a_width_that_does_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="no multiple of 64"):
        widen(read_model(MICRO_WHISPER / "model.bin"), WhisperDimensions(100, 4, (2, 2), 3000))


def test_it_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIMENSIONS, "tried", WhisperDimensions(128, 4, (2, 2), 2120))
    first = widened_whisper("tried", tmp_path)
    made_at = (first / "model.bin").stat().st_mtime_ns
    assert widened_whisper("tried", tmp_path) == first
    assert (first / "model.bin").stat().st_mtime_ns == made_at


def test_what_was_left_half_made_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DIMENSIONS, "tried", WhisperDimensions(128, 4, (2, 2), 2120))
    monkeypatch.setattr(module, "_COPIED_FILES", ("no-such-file",))
    with pytest.raises(FileNotFoundError):
        widened_whisper("tried", tmp_path)
    assert not (tmp_path / "whisper-tried-widened").exists()
    monkeypatch.undo()
    monkeypatch.setitem(DIMENSIONS, "tried", WhisperDimensions(128, 4, (2, 2), 2120))
    assert (widened_whisper("tried", tmp_path) / "model.bin").is_file()
