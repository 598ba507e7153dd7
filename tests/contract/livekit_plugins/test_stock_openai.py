"""Clients that nobody wrote for us: LiveKit's `openai` plugin and the `openai` SDK, unmodified."""

import io
import json
from collections.abc import AsyncIterator

import av
import numpy as np
import openai
import pytest
from livekit import rtc
from livekit.agents import APIConnectOptions, APIStatusError
from livekit.plugins import openai as livekit_openai

from tests.speech_server_process import SpeechServer
from tests.spoken import silence, speak

QUESTION = "What are your opening hours?"
ONCE = APIConnectOptions(max_retry=0, timeout=5.0)


def recording(rate_hz: int = 24_000) -> rtc.AudioFrame:
    pcm = np.concatenate(
        [silence(0.2, rate_hz), speak(QUESTION, rate_hz=rate_hz), silence(0.3, rate_hz)]
    )
    return rtc.AudioFrame(pcm.astype(np.int16).tobytes(), rate_hz, 1, len(pcm))


@pytest.fixture
async def client(speech_server: SpeechServer) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(
        base_url=f"{speech_server.url}/v1", api_key="none", max_retries=0
    ) as client:
        yield client


def decoded_s(audio: bytes, container: str) -> float:
    """Length of an encoded file, seconds, by decoding it."""
    if container == "pcm":
        return len(audio) / 2 / 24_000
    with av.open(io.BytesIO(audio)) as file:
        samples = sum(frame.samples for frame in file.decode(audio=0))
        return samples / file.streams.audio[0].rate


# --- LiveKit's plugin ---


@pytest.mark.parametrize("response_format", ["mp3", "pcm", "wav", "opus", "flac"])
async def test_livekit_tts(speech_server: SpeechServer, response_format: str) -> None:
    tts = livekit_openai.TTS(
        base_url=f"{speech_server.url}/v1", api_key="none", response_format=response_format
    )
    async with tts.synthesize(QUESTION, conn_options=ONCE) as stream:
        audio = await stream.collect()
    assert audio.sample_rate == 24_000
    assert 1.0 < audio.duration < 3.0
    assert np.abs(np.frombuffer(audio.data, np.int16).astype(int)).max() > 2000
    await tts.aclose()


async def test_livekit_tts_older_model(speech_server: SpeechServer) -> None:
    """`tts-1` asks for raw audio, the newer models for server-sent events."""
    tts = livekit_openai.TTS(
        base_url=f"{speech_server.url}/v1",
        api_key="none",
        model="tts-1",
        voice="alloy",
        response_format="pcm",
    )
    async with tts.synthesize(QUESTION, conn_options=ONCE) as stream:
        assert 1.0 < (await stream.collect()).duration < 3.0
    await tts.aclose()


async def test_livekit_stt(speech_server: SpeechServer) -> None:
    stt = livekit_openai.STT(base_url=f"{speech_server.url}/v1", api_key="none")
    event = await stt.recognize(recording(), conn_options=ONCE)
    assert "opening hours" in event.alternatives[0].text.lower()
    await stt._client.close()  # the plugin's own aclose leaves it open


async def test_livekit_sees_a_refusal_as_one(speech_server: SpeechServer) -> None:
    tts = livekit_openai.TTS(
        base_url=f"{speech_server.url}/v1", api_key="none", voice="nobody", response_format="pcm"
    )
    with pytest.raises(APIStatusError) as caught:
        async with tts.synthesize(QUESTION, conn_options=ONCE) as stream:
            await stream.collect()
    assert caught.value.status_code == 404
    await tts.aclose()


# --- the official SDK ---


@pytest.mark.parametrize("response_format", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
async def test_sdk_speech(client: openai.AsyncOpenAI, response_format: str) -> None:
    answer = await client.audio.speech.create(
        model="tts-1", voice="alloy", input=QUESTION, response_format=response_format
    )
    assert 1.0 < decoded_s(answer.content, response_format) < 3.0


@pytest.mark.parametrize("response_format", ["mp3", "opus", "aac", "flac", "wav", "pcm"])
async def test_sdk_speech_streamed(client: openai.AsyncOpenAI, response_format: str) -> None:
    async with client.audio.speech.with_streaming_response.create(
        model="tts-1", voice="alloy", input=QUESTION, response_format=response_format
    ) as answer:
        chunks = [chunk async for chunk in answer.iter_bytes()]
    assert 1.0 < decoded_s(b"".join(chunks), response_format) < 3.0


async def test_sdk_speech_events(client: openai.AsyncOpenAI) -> None:
    async with client.audio.speech.with_streaming_response.create(
        model="gpt-4o-mini-tts",
        voice="ash",
        input=QUESTION,
        response_format="pcm",
        stream_format="sse",
    ) as answer:
        lines = [line async for line in answer.iter_lines() if line.startswith("data: {")]
    events = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert events[-1]["type"] == "speech.audio.done"
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}


@pytest.mark.parametrize("response_format", ["json", "text", "srt", "vtt", "verbose_json"])
async def test_sdk_transcription(client: openai.AsyncOpenAI, response_format: str) -> None:
    answer = await client.audio.transcriptions.create(
        model="whisper-1",
        file=("question.wav", recording().to_wav_bytes()),
        response_format=response_format,  # type: ignore[call-overload]
    )
    text = answer if isinstance(answer, str) else answer.text
    assert "opening hours" in text.lower()
    if response_format in {"srt", "vtt"}:
        assert "-->" in text
    if response_format == "verbose_json":
        assert answer.duration == pytest.approx(recording().duration, abs=0.1)


async def test_sdk_transcription_streamed(client: openai.AsyncOpenAI) -> None:
    stream = await client.audio.transcriptions.create(
        model="gpt-4o-mini-transcribe",
        file=("question.wav", recording().to_wav_bytes()),
        stream=True,
    )
    events = [event async for event in stream]
    assert events[-1].type == "transcript.text.done"
    assert "opening hours" in events[-1].text.lower()


async def test_sdk_hears_what_it_speaks(client: openai.AsyncOpenAI) -> None:
    spoken = await client.audio.speech.create(
        model="tts-1", voice="nova", input=QUESTION, response_format="mp3"
    )
    heard = await client.audio.transcriptions.create(
        model="whisper-1", file=("speech.mp3", spoken.content)
    )
    assert "opening hours" in heard.text.lower()


async def test_sdk_models(client: openai.AsyncOpenAI) -> None:
    models = [model async for model in client.models.list()]
    assert len(models) == 2
    for model in models:
        assert (await client.models.retrieve(model.id)).id == model.id


async def test_sdk_errors(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="voice"):
        await client.audio.speech.create(model="tts-1", voice="nobody", input="Hello.")
    with pytest.raises(openai.BadRequestError):
        await client.audio.speech.create(model="tts-1", voice="alloy", input="")
    with pytest.raises(openai.BadRequestError):
        await client.audio.transcriptions.create(
            model="whisper-1", file=("noise.wav", b"this is not audio")
        )
