import asyncio
from pathlib import Path

import numpy as np
import pytest

from speech_server.errors import EngineFailed
from speech_server.tts.orpheus_codes import codes_of
from speech_server.tts.snac_codec import SnacCodec, SnacCodecStream
from speech_server.tts.snac_decoder import load_snac
from speech_server.tts.snac_stream import SnacStream
from tests.tiny_voice import SNAC_FOLDER, sentences

SENTENCE = next(iter(sentences().values()))


async def spoken(stream: SnacCodecStream, step: int) -> np.ndarray:
    pieces = []
    for start in range(0, len(SENTENCE), step):
        pieces += await stream.push(SENTENCE[start : start + step])
    return np.concatenate([*pieces, *await stream.flush()])


async def test_callers_at_once_hear_what_one_alone_would_hear() -> None:
    alone = SnacStream(load_snac(SNAC_FOLDER, "cpu").decode)
    wanted = np.concatenate([*alone.push(SENTENCE), *alone.flush()])
    codec = SnacCodec(SNAC_FOLDER)
    await codec.start()
    try:
        heard = await asyncio.gather(*(spoken(codec.stream(), step) for step in (1, 3, 100)))
    finally:
        await codec.close()
    assert codes_of(SENTENCE).shape[0] * 2048 == len(wanted)
    for audio in heard:
        assert len(audio) == len(wanted)
    assert np.abs(heard[2] - wanted).max() < 1e-3


async def test_a_missing_codec_is_told_with_its_setting(tmp_path: Path) -> None:
    with pytest.raises(EngineFailed, match=r"no directory .*PARLEY_TTS_SNAC"):
        await SnacCodec(tmp_path / "none").start()


async def test_before_the_start_and_after_the_end_it_says_so() -> None:
    codec = SnacCodec(SNAC_FOLDER)
    with pytest.raises(EngineFailed, match="not loaded"):
        codec.stream()
    await codec.start()
    stream = codec.stream()
    await codec.close()
    with pytest.raises(EngineFailed, match="closed"):
        await stream.push(SENTENCE)
