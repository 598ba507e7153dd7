import asyncio
import json
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import openai
import pytest
from openai import AsyncOpenAI

from tests.audio_files import encoded
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

QUESTION = "What are your opening hours?"
ANSWER = "Thank you, goodbye."
PAUSED = np.concatenate(
    (silence(0.5), speak(QUESTION, "rms"), silence(1.0), speak(ANSWER, "rms"), silence(0.5))
)
FILE = ("call.wav", encoded(PAUSED, 16_000))


@pytest.fixture
async def client(speech_server: SpeechServer) -> AsyncIterator[AsyncOpenAI]:
    async with AsyncOpenAI(
        base_url=f"{speech_server.url}/v1", api_key="none", max_retries=0
    ) as client:
        yield client


@pytest.fixture(scope="module")
def strict_server() -> Iterator[SpeechServer]:
    """Small limits."""
    settings = {"stt_upload_max_bytes": "300000", "stt_upload_max_s": "20"}
    with speech_server_process(("stt",), **settings) as server:
        yield server


async def test_json(client: AsyncOpenAI) -> None:
    answer = await client.audio.transcriptions.create(model="whisper-1", file=FILE)
    assert QUESTION in answer.text
    assert "bye" in answer.text
    assert answer.usage is not None
    assert answer.usage.type == "duration"
    assert answer.usage.seconds == pytest.approx(len(PAUSED) / 16_000, abs=0.01)


async def test_text(client: AsyncOpenAI) -> None:
    answer = await client.audio.transcriptions.create(
        model="whisper-1", file=FILE, response_format="text", language="en", temperature=0
    )
    assert QUESTION in answer


async def test_srt_and_vtt(client: AsyncOpenAI) -> None:
    srt = await client.audio.transcriptions.create(
        model="whisper-1", file=FILE, response_format="srt"
    )
    vtt = await client.audio.transcriptions.create(
        model="whisper-1", file=FILE, response_format="vtt"
    )
    assert srt.startswith("1\n00:00:00,")
    assert "\n\n2\n" in srt
    assert vtt.startswith("WEBVTT\n\n00:00:00.")


async def test_verbose_json_has_true_segment_times(client: AsyncOpenAI) -> None:
    answer = await client.audio.transcriptions.create(
        model="whisper-1",
        file=FILE,
        response_format="verbose_json",
        timestamp_granularities=["segment"],
    )
    assert answer.segments is not None
    first, second = answer.segments
    question_s = len(speak(QUESTION, "rms")) / 16_000
    assert first.start == pytest.approx(0.4, abs=0.1)
    assert first.end == pytest.approx(0.5 + question_s, abs=0.1)
    assert second.start == pytest.approx(1.4 + question_s, abs=0.15)
    assert first.text == QUESTION
    assert answer.duration == pytest.approx(len(PAUSED) / 16_000, abs=0.01)
    assert answer.language == "en"
    assert answer.words is None


async def test_word_times_are_refused_where_the_engine_knows_none(client: AsyncOpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="no word times"):
        await client.audio.transcriptions.create(
            model="whisper-1",
            file=FILE,
            response_format="verbose_json",
            timestamp_granularities=["word"],
        )


async def test_stream(client: AsyncOpenAI) -> None:
    events = [
        event
        async for event in await client.audio.transcriptions.create(
            model="gpt-4o-transcribe", file=FILE, stream=True
        )
    ]
    deltas = [event.delta for event in events if event.type == "transcript.text.delta"]
    done = events[-1]
    assert done.type == "transcript.text.done"
    assert len(deltas) == 2
    assert "".join(deltas) == done.text
    assert QUESTION in done.text


@pytest.mark.parametrize(
    ("container", "codec"),
    [("mp3", "libmp3lame"), ("ogg", "libopus"), ("flac", "flac"), ("mp4", "aac")],
)
async def test_compressed_files(client: AsyncOpenAI, container: str, codec: str) -> None:
    speech = np.concatenate((silence(0.3, 24_000), speak(QUESTION, "rms", 24_000)))
    file = ("a." + container, encoded(speech, 24_000, container, codec))
    answer = await client.audio.transcriptions.create(model="any", file=file)
    assert "opening" in answer.text


async def test_a_long_file_is_read_in_pieces(client: AsyncOpenAI) -> None:
    sentence = np.concatenate((speak("When is my appointment?", "rms"), silence(0.8)))
    file = ("long.flac", encoded(np.tile(sentence, 25), 16_000, "flac", "flac"))
    answer = await client.audio.transcriptions.create(model="any", file=file)
    assert answer.text.count("appointment") == 25


async def test_silence_has_no_text(client: AsyncOpenAI) -> None:
    answer = await client.audio.transcriptions.create(
        model="any", file=("quiet.wav", encoded(silence(3), 16_000))
    )
    assert answer.text == ""


@pytest.mark.parametrize(
    ("file", "fields", "fault"),
    [
        (b"", {}, "empty"),
        (b"<html></html>", {}, "could not be decoded"),
        (FILE[1][:30], {}, "could not be decoded"),
        (FILE[1], {"response_format": "xml"}, "response_format"),
        (FILE[1], {"language": "fr"}, "language"),
        (FILE[1], {"stream": "maybe"}, "stream"),
        (FILE[1], {"include[]": "logprobs"}, "unknown field: include"),
        (FILE[1], {"prompt": "x" * 5000}, "prompt"),
        (FILE[1], {"timestamp_granularities[]": "segment"}, "verbose_json"),
        (FILE[1], {"response_format": ["json", "text"]}, "twice"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(
    speech_server: SpeechServer, file: bytes, fields: dict[str, str], fault: str
) -> None:
    async with httpx.AsyncClient(base_url=speech_server.url, timeout=60) as http:
        answer = await http.post(
            "/v1/audio/transcriptions", files={"file": ("a.wav", file)}, data=fields
        )
        assert answer.status_code == 400
        error = answer.json()["error"]
        assert error["code"] == "bad_request"
        assert fault in error["message"]
        assert (await http.get("/ready")).status_code == 200


async def test_a_form_without_a_file_and_no_form_at_all(speech_server: SpeechServer) -> None:
    async with httpx.AsyncClient(base_url=speech_server.url, timeout=60) as http:
        for body in (
            {"files": {"model": (None, "any")}},
            {"files": {"file": (None, "text")}},
            {"json": {"file": "a.wav"}},
            {"content": b"x", "headers": {"content-type": "multipart/form-data"}},
            {"content": b"x", "headers": {"content-type": "multipart/form-data; boundary=b"}},
        ):
            answer = await http.post("/v1/audio/transcriptions", **body)  # type: ignore[arg-type]
            assert answer.status_code == 400, body
            assert answer.json()["error"]["type"] == "invalid_request_error"


async def test_too_many_bytes_are_refused_as_they_arrive(strict_server: SpeechServer) -> None:
    async with httpx.AsyncClient(base_url=strict_server.url, timeout=60) as http:
        announced = await http.post(
            "/v1/audio/transcriptions", files={"file": ("a.wav", bytes(400_000))}
        )
        raw = await http.post("/v1/listen", content=_unannounced(bytes(1_000), 400))
    for answer in (announced, raw):
        assert answer.status_code == 413
        assert answer.json()["error"]["code"] == "payload_too_large"


async def _unannounced(piece: bytes, count: int) -> AsyncIterator[bytes]:
    for _ in range(count):
        yield piece


async def test_too_much_audio_is_refused_however_small_the_file(
    strict_server: SpeechServer,
) -> None:
    bomb = encoded(np.zeros(600 * 16_000, np.int16), 16_000, "flac", "flac")
    async with httpx.AsyncClient(base_url=strict_server.url, timeout=60) as http:
        answer = await http.post("/v1/audio/transcriptions", files={"file": ("a.flac", bomb)})
        assert answer.status_code == 413
        assert "20 s" in answer.json()["error"]["message"]
        good = await http.post("/v1/audio/transcriptions", files={"file": FILE})
        assert good.status_code == 200


async def test_a_client_that_leaves_does_not_keep_its_place(speech_server: SpeechServer) -> None:
    async with httpx.AsyncClient(base_url=speech_server.url, timeout=60) as http:
        sentence = np.tile(np.concatenate((speak(QUESTION, "rms"), silence(0.8))), 30)
        file = ("long.flac", encoded(sentence, 16_000, "flac", "flac"))
        async with http.stream(
            "POST", "/v1/audio/transcriptions", files={"file": file}, data={"stream": "true"}
        ) as answer:
            lines = answer.aiter_lines()
            event = json.loads((await anext(lines)).removeprefix("data: "))
            assert event["type"] == "transcript.text.delta"
            assert _active(await http.get("/metrics")) == 1
        async with asyncio.timeout(60):
            while _active(await http.get("/metrics")) > 0:
                pass


def _active(metrics: httpx.Response) -> float:
    prefix = 'speech_streams_active{service="stt"} '
    (line,) = (line for line in metrics.text.splitlines() if line.startswith(prefix))
    return float(line.removeprefix(prefix))
