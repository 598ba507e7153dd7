"""Whatever is uploaded to be transcribed, the next file is heard and nothing is left behind."""

import gzip
import io
import wave
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import pytest

from tests.audio_files import encoded
from tests.process_footprint import Footprint, peak_rss, returned
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

RATE_HZ = 16_000
QUESTION = "What are your opening hours?"
SPEECH = np.concatenate((silence(0.3), speak(QUESTION, "rms"), silence(0.3)))
MAX_S = 60
MAX_BYTES = 4_000_000


@pytest.fixture(scope="module")
def server() -> Iterator[SpeechServer]:
    with speech_server_process(
        ("stt",),
        stt_upload_max_s=str(MAX_S),
        stt_upload_max_bytes=str(MAX_BYTES),
        stt_max_latency_s="60",  # a busy machine is not what is tested here
    ) as server:
        yield server
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


@pytest.fixture
async def http(server: SpeechServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as http:
        yield http


@pytest.fixture(autouse=True)
async def nothing_is_left_behind(
    server: SpeechServer, http: httpx.AsyncClient
) -> AsyncIterator[None]:
    """Before and after each test: a file is heard, and the process is as large as it was."""
    await question_is_heard(http)
    before = Footprint.of(server.process.pid)
    yield
    await question_is_heard(http)
    await returned(server.process.pid, before)


async def question_is_heard(http: httpx.AsyncClient) -> None:
    answer = await upload(http, encoded(SPEECH, RATE_HZ))
    assert answer.status_code == 200, answer.text
    assert answer.json()["text"] == QUESTION


async def upload(http: httpx.AsyncClient, file: bytes, **fields: str) -> httpx.Response:
    return await http.post("/v1/audio/transcriptions", files={"file": ("a.wav", file)}, data=fields)


async def listen(http: httpx.AsyncClient, body: bytes, query: str = "") -> httpx.Response:
    return await http.post(f"/v1/listen?{query}", content=body)


def float_wav(samples: np.ndarray) -> bytes:
    """A WAV file of 32-bit floats, whatever they are."""
    file = io.BytesIO(encoded(np.zeros(len(samples), np.int16), RATE_HZ, codec="pcm_f32le"))
    data = bytearray(file.getvalue())
    data[-4 * len(samples) :] = samples.astype("<f4").tobytes()
    return bytes(data)


def error_of(answer: httpx.Response) -> str:
    assert answer.headers["content-type"].startswith("application/json")
    error = answer.json()["error"]
    assert error["message"]
    code: str = error["code"]
    return code


BOMBS = {
    "flac": lambda: encoded(np.zeros(3_600 * RATE_HZ, np.int16), RATE_HZ, "flac", "flac"),
    "opus": lambda: encoded(np.zeros(300 * RATE_HZ, np.int16), RATE_HZ, "ogg", "libopus"),
    "mp3": lambda: encoded(np.zeros(300 * RATE_HZ, np.int16), RATE_HZ, "mp3", "libmp3lame"),
}


@pytest.mark.parametrize("kind", BOMBS)
async def test_a_small_file_of_much_audio_is_stopped(
    server: SpeechServer, http: httpx.AsyncClient, kind: str
) -> None:
    bomb = BOMBS[kind]()
    assert len(bomb) < MAX_BYTES
    before = peak_rss(server.process.pid)
    for answer in (await upload(http, bomb), await listen(http, bomb)):
        assert answer.status_code == 413
        assert error_of(answer) == "payload_too_large"
        assert f"{MAX_S} s" in answer.json()["error"]["message"]
    # A minute of 16-bit samples and the file a few times over, not the hour that it holds.
    assert peak_rss(server.process.pid) - before < 32 << 20


async def test_what_is_compressed_by_gzip_is_not_unpacked(http: httpx.AsyncClient) -> None:
    for packed in (bytes(50_000_000), encoded(SPEECH, RATE_HZ)):
        file = gzip.compress(packed)
        answer = await upload(http, file)
        assert (answer.status_code, error_of(answer)) == (400, "bad_request")
        answer = await http.post("/v1/listen", content=file, headers={"content-encoding": "gzip"})
        assert (answer.status_code, error_of(answer)) == (400, "bad_request")


async def test_samples_that_are_no_sound_do_no_harm(http: httpx.AsyncClient) -> None:
    for value in (np.nan, np.inf, -np.inf, 1e30, 1e-40):
        samples = np.full(2 * len(SPEECH), value, np.float32)
        assert (await upload(http, float_wav(samples))).status_code == 200
        samples[: len(SPEECH)] = SPEECH / 32768
        assert (await upload(http, float_wav(samples))).status_code == 200


async def test_distorted_speech_is_heard(http: httpx.AsyncClient) -> None:
    for gain, offset in ((8.0, 0), (1.0, 1_600)):
        bent = np.clip(SPEECH.astype(np.float64) * gain + offset, -32768, 32767).astype(np.int16)
        answer = await upload(http, encoded(bent, RATE_HZ))
        assert "opening hours" in answer.json()["text"]


async def test_hardly_any_audio_has_no_text(http: httpx.AsyncClient) -> None:
    for samples in (1, 100, RATE_HZ):
        answer = await upload(http, encoded(np.zeros(samples, np.int16), RATE_HZ))
        assert answer.json()["text"] == ""
    raw = "encoding=linear16&sample_rate=16000"
    assert error_of(await listen(http, b"", raw)) == "bad_request"
    for body in (b"\x01", b"\x01\x02", bytes(32_001)):
        channel = (await listen(http, body, raw)).json()["results"]["channels"][0]
        assert channel["alternatives"][0]["transcript"] == ""


async def test_too_much_raw_audio_is_refused(http: httpx.AsyncClient) -> None:
    answer = await listen(
        http, bytes(2 * RATE_HZ * MAX_S + 2), "encoding=linear16&sample_rate=16000"
    )
    assert (answer.status_code, error_of(answer)) == (413, "payload_too_large")
    answer = await listen(http, bytes(MAX_BYTES + 1))
    assert (answer.status_code, error_of(answer)) == (413, "payload_too_large")


async def test_odd_files_are_refused_or_read(http: httpx.AsyncClient) -> None:
    whole = encoded(SPEECH, RATE_HZ)
    odd = await upload(http, whole[:-1])
    assert odd.json()["text"] == QUESTION
    lying = bytearray(whole)
    length = whole.index(b"data") + 4
    lying[length : length + 4] = (
        b"\xff\xff\xff\x7f"  # the length of the data, as a broken writer leaves it
    )
    assert (await upload(http, bytes(lying))).json()["text"] == QUESTION
    for broken in (whole[:20], b"\x00" * 50_000, np.random.default_rng(1).bytes(50_000)):
        answer = await upload(http, broken)
        assert (answer.status_code, error_of(answer)) == (400, "bad_request")


async def test_a_form_in_half_characters_is_refused(http: httpx.AsyncClient) -> None:
    part = b'--x\r\nContent-Disposition: form-data; name="\\ud800"\r\n\r\n1\r\n--x--\r\n'
    kind = "multipart/form-data; boundary=x; charset=unicode_escape"
    answer = await http.post(
        "/v1/audio/transcriptions", content=part, headers={"content-type": kind}
    )
    assert (answer.status_code, error_of(answer)) == (400, "bad_request")


async def test_a_format_that_no_decoder_knows_is_refused(http: httpx.AsyncClient) -> None:
    file = io.BytesIO()
    with wave.open(file, "wb") as output:
        output.setnchannels(1)
        output.setsampwidth(2)
        output.setframerate(RATE_HZ)
        output.writeframes(SPEECH.tobytes())
    data = bytearray(file.getvalue())
    data[20:22] = b"\xbe\xba"  # the format's number
    answer = await upload(http, bytes(data))
    assert (answer.status_code, error_of(answer)) == (400, "bad_request")
