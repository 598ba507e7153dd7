import asyncio
import io
import wave
import zlib

import numpy as np
import pytest

from speech_server.audio.decode import AudioDecoder
from speech_server.errors import BadRequest, DeadlineExceeded, PayloadTooLarge
from tests.audio_files import encoded

RATE_HZ = 24_000
TONE = (8_000 * np.sin(np.arange(RATE_HZ) * 2 * np.pi * 440 / RATE_HZ)).astype(np.int16)


@pytest.fixture
def decoder() -> AudioDecoder:
    return AudioDecoder(max_s=60.0, timeout_s=20.0)


@pytest.mark.parametrize(
    ("container", "codec"),
    [
        ("wav", "pcm_s16le"),
        ("wav", "pcm_f32le"),
        ("wav", "pcm_mulaw"),
        ("aiff", "pcm_s16be"),
        ("mp3", "libmp3lame"),
        ("flac", "flac"),
        ("ogg", "libopus"),
        ("webm", "libopus"),
        ("mp4", "aac"),
        ("adts", "aac"),
    ],
)
async def test_common_formats(decoder: AudioDecoder, container: str, codec: str) -> None:
    pcm = await decoder.decode(encoded(TONE, RATE_HZ, container, codec))
    assert pcm.dtype == np.float32
    assert len(pcm) / 16_000 == pytest.approx(1.0, abs=0.1)
    assert np.abs(pcm).max() == pytest.approx(0.25, abs=0.03)
    spectrum = np.abs(np.fft.rfft(pcm[1000:13_800]))
    assert np.argmax(spectrum) * 16_000 / 12_800 == pytest.approx(440, abs=2)


async def test_stereo_and_any_rate_become_16_khz_mono(decoder: AudioDecoder) -> None:
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(2)
        output.setsampwidth(2)
        output.setframerate(11_025)
        output.writeframes(np.full((11_025, 2), 1000, "<i2").tobytes())
    pcm = await decoder.decode(file.getvalue())
    assert len(pcm) == 16_000


async def test_one_sample_and_silence_are_audio(decoder: AudioDecoder) -> None:
    assert len(await decoder.decode(encoded(TONE[:1], 16_000))) == 1
    silent = await decoder.decode(encoded(np.zeros(16_000, np.int16), 16_000))
    assert len(silent) == 16_000
    assert not silent.any()


async def test_a_wav_cut_off_by_a_lost_connection_gives_what_is_there(
    decoder: AudioDecoder,
) -> None:
    whole = encoded(TONE, RATE_HZ)
    pcm = await decoder.decode(whole[: len(whole) // 2])
    assert len(pcm) / 16_000 == pytest.approx(0.5, abs=0.02)


PLAYLIST = b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nfile:///etc/hostname\n#EXT-X-ENDLIST\n"
CONCAT = b"ffconcat version 1.0\nfile /etc/hostname\n"


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x00", id="one byte"),
        pytest.param(np.random.default_rng(0).bytes(50_000), id="garbage"),
        pytest.param(b"<!doctype html><html><body>Bad gateway</body></html>" * 50, id="html"),
        pytest.param(PLAYLIST, id="playlist of a local file"),
        pytest.param(CONCAT, id="list of local files"),
        pytest.param(encoded(TONE, RATE_HZ)[:20], id="half a header"),
        pytest.param(encoded(TONE, RATE_HZ, "flac", "flac")[:300], id="flac header only"),
        pytest.param(zlib.compress(b"\0" * 1_000_000), id="not audio at all"),
    ],
)
async def test_what_is_no_audio_is_refused_and_the_next_file_is_read(
    decoder: AudioDecoder, data: bytes
) -> None:
    with pytest.raises(BadRequest):
        await decoder.decode(data)
    assert len(await decoder.decode(encoded(TONE, RATE_HZ))) == 16_000


async def test_a_small_file_of_endless_silence_is_stopped(decoder: AudioDecoder) -> None:
    bomb = encoded(np.zeros(600 * 16_000, np.int16), 16_000, "flac", "flac")
    assert len(bomb) < 120_000
    with pytest.raises(PayloadTooLarge, match="60 s"):
        await decoder.decode(bomb)
    assert len(await decoder.decode(encoded(TONE, RATE_HZ))) == 16_000


async def test_too_slow_is_told_and_leaves_no_process_behind() -> None:
    hurried = AudioDecoder(max_s=60.0, timeout_s=1e-3)
    with pytest.raises(DeadlineExceeded):
        await hurried.decode(encoded(TONE, RATE_HZ))


async def test_many_at_once(decoder: AudioDecoder) -> None:
    file = encoded(TONE, RATE_HZ)
    results = await asyncio.gather(*(decoder.decode(file) for _ in range(5)))
    assert [len(pcm) for pcm in results] == [16_000] * 5


async def test_cancelling_ends_the_process(decoder: AudioDecoder) -> None:
    task = asyncio.create_task(decoder.decode(encoded(TONE, RATE_HZ)))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(await decoder.decode(encoded(TONE, RATE_HZ))) == 16_000
