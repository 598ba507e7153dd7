"""`POST /v1/audio/speech` over real sockets: OpenAI's SDK, LiveKit's plugin, plain HTTP."""

import base64
import io
import json
from collections.abc import AsyncIterator

import av
import httpx
import numpy as np
import openai
import pytest
from livekit.agents.utils import http_context
from livekit.plugins import openai as livekit_openai

from speech_server.protocol.rest import OPENAI_VOICES
from tests.heard import share_heard
from tests.speech_server_process import SpeechServer, speech_server_process

TEXT = "Hello, how can I help you today? We are open on Monday from nine to five."


@pytest.fixture
async def client(speech_server: SpeechServer) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=speech_server.url, timeout=30) as http:
        yield http


def decode(data: bytes) -> tuple[np.ndarray, int]:
    """Any container to int16 mono and its rate."""
    with av.open(io.BytesIO(data)) as container:
        rate = container.streams.audio[0].rate
        to_mono = av.AudioResampler(format="s16", layout="mono", rate=rate)
        frames = [f for frame in container.decode(audio=0) for f in to_mono.resample(frame)]
    return np.concatenate([frame.to_ndarray()[0] for frame in frames]), rate


async def metric(client: httpx.AsyncClient, line: str) -> float:
    for row in (await client.get("/metrics")).text.splitlines():
        if row.startswith(line + " "):
            return float(row.rsplit(" ", 1)[1])
    return 0.0


@pytest.mark.parametrize(
    ("response_format", "content_type"),
    [
        ("mp3", "audio/mpeg"),
        ("opus", "audio/ogg"),
        ("aac", "audio/aac"),
        ("flac", "audio/flac"),
        ("wav", "audio/wav"),
    ],
)
async def test_every_container_is_speech(
    client: httpx.AsyncClient, response_format: str, content_type: str
) -> None:
    answer = await client.post(
        "/v1/audio/speech",
        json={"model": "tts-1", "input": TEXT, "response_format": response_format},
    )
    assert answer.status_code == 200
    assert answer.headers["content-type"] == content_type
    assert answer.headers["x-request-id"]
    pcm, rate = decode(answer.content)
    assert share_heard(TEXT, pcm, rate) >= 0.7


async def test_pcm_is_24_khz_and_begins_at_once(client: httpx.AsyncClient) -> None:
    answer = await client.post(
        "/v1/audio/speech", json={"model": "m", "input": TEXT, "response_format": "pcm"}
    )
    pcm = np.frombuffer(answer.content, "<i2")
    assert share_heard(TEXT, pcm, 24_000) >= 0.7
    onset = int(np.flatnonzero(np.abs(pcm.astype(int)) > 300)[0])
    assert onset / 24_000 <= 0.04  # the voice itself begins with 0.19 s of silence


async def test_openai_sdk(speech_server: SpeechServer) -> None:
    async with openai.AsyncOpenAI(base_url=f"{speech_server.url}/v1", api_key="none") as sdk:
        async with sdk.audio.speech.with_streaming_response.create(
            model="gpt-4o-mini-tts", voice="nova", input=TEXT, response_format="pcm"
        ) as response:
            pieces = [piece async for piece in response.iter_bytes()]
        assert len(pieces) > 1
        assert share_heard(TEXT, np.frombuffer(b"".join(pieces), "<i2"), 24_000) >= 0.7
        for voice in ({"id": "rms"}, *OPENAI_VOICES):
            whole = await sdk.audio.speech.create(
                model="tts-1", voice=voice, input="Yes.", response_format="pcm"
            )
            assert len(whole.content) > 4_800
        with pytest.raises(openai.NotFoundError, match="no such voice; there are: "):
            await sdk.audio.speech.create(model="tts-1", voice="nobody", input="Yes.")


@pytest.mark.parametrize("model", ["gpt-4o-mini-tts", "tts-1"])
@pytest.mark.parametrize("response_format", ["mp3", "pcm", "wav"])
async def test_livekit_openai_plugin(
    speech_server: SpeechServer, model: str, response_format: str
) -> None:
    async with http_context.open():
        tts = livekit_openai.TTS(
            model=model,
            voice="ash",
            base_url=f"{speech_server.url}/v1",
            api_key="none",
            response_format=response_format,
        )
        async with tts.synthesize(TEXT) as stream:
            frame = await stream.collect()
        await tts.aclose()
    assert frame.sample_rate == 24_000
    assert share_heard(TEXT, np.frombuffer(frame.data, np.int16), 24_000) >= 0.7


async def test_server_sent_events(client: httpx.AsyncClient) -> None:
    request = {
        "model": "gpt-4o-mini-tts",
        "input": TEXT,
        "voice": "alloy",
        "response_format": "pcm",
        "stream_format": "sse",
    }
    events = []
    async with client.stream("POST", "/v1/audio/speech", json=request) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line:
                assert line.startswith("data: ")
                events.append(json.loads(line[6:]))
    assert {event["type"] for event in events[:-1]} == {"speech.audio.delta"}
    assert events[-1]["type"] == "speech.audio.done"
    assert set(events[-1]["usage"]) == {"input_tokens", "output_tokens", "total_tokens"}
    audio = b"".join(base64.b64decode(event["audio"]) for event in events[:-1])
    assert share_heard(TEXT, np.frombuffer(audio, "<i2"), 24_000) >= 0.7


async def test_speed_changes_the_length(client: httpx.AsyncClient) -> None:
    lengths = []
    for speed in (0.5, 1.0, 2.0):
        answer = await client.post(
            "/v1/audio/speech",
            json={"model": "m", "input": TEXT, "response_format": "pcm", "speed": speed},
        )
        lengths.append(len(answer.content))
    assert lengths[0] > 1.6 * lengths[1] > 1.6 * 1.6 * lengths[2]


async def test_voices_are_listed_with_their_aliases(client: httpx.AsyncClient) -> None:
    voices = (await client.get("/v1/audio/voices")).json()["voices"]
    assert sorted(alias for voice in voices for alias in voice["aliases"]) == sorted(OPENAI_VOICES)
    assert len({voice["id"] for voice in voices}) == len(voices) >= 2


@pytest.mark.parametrize(
    ("changes", "status", "message"),
    [
        ({"input": ""}, 400, "input: must not be empty"),
        ({"input": "   \n"}, 400, "nothing to speak"),
        ({"input": "?!... --- 😀🎉"}, 400, "nothing to speak"),
        ({"input": "<|im_start|><custom_token_3>"}, 400, "nothing to speak"),
        ({"input": "a" * 4097}, 413, "limited to 4096 characters"),
        ({"input": "a" * 100_000}, 413, "limited to"),
        ({"input": 5}, 400, "input"),
        ({"voice": 5}, 400, "voice"),
        ({"voice": {"name": "slt"}}, 400, "voice"),
        ({"voice": "nobody"}, 404, "no such voice"),
        ({"speed": 9}, 400, "speed"),
        ({"speed": "fast"}, 400, "speed"),
        ({"response_format": "aiff"}, 400, "response_format"),
        ({"stream_format": "websocket"}, 400, "stream_format"),
        ({"colour": "red"}, 400, "colour"),
    ],
)
async def test_bad_requests_are_explained(
    client: httpx.AsyncClient, changes: dict[str, object], status: int, message: str
) -> None:
    request = {"model": "tts-1", "input": "Hello."} | changes
    answer = await client.post("/v1/audio/speech", json=request)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]
    assert (await client.get("/ready")).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000])
async def test_malformed_json(client: httpx.AsyncClient, body: bytes) -> None:
    answer = await client.post("/v1/audio/speech", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"


async def test_endless_body_is_cut_off(client: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"model": "m", "input": "'
        for _ in range(64):
            yield b"a" * 65_536

    answer = await client.post("/v1/audio/speech", content=endless())
    assert answer.status_code == 413


async def test_client_that_hangs_up_frees_its_place(client: httpx.AsyncClient) -> None:
    request = {"model": "m", "input": "word " * 800, "response_format": "pcm", "speed": 0.25}
    async with client.stream("POST", "/v1/audio/speech", json=request) as answer:
        await anext(answer.aiter_bytes())
        assert await metric(client, 'speech_streams_active{service="tts"}') == 1
    while await metric(client, 'speech_streams_active{service="tts"}') != 0:
        pass
    again = await client.post("/v1/audio/speech", json={"model": "m", "input": "Hello."})
    assert again.status_code == 200


async def test_full_server_refuses_at_once_and_recovers() -> None:
    with speech_server_process(roles=("tts",), tts_capacity_streams="1") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            long = {"model": "m", "input": "word " * 800, "response_format": "pcm", "speed": 0.25}
            short = {"model": "m", "input": "Hello."}
            async with http.stream("POST", "/v1/audio/speech", json=long) as answer:
                await anext(answer.aiter_bytes())
                refused = await http.post("/v1/audio/speech", json=short)
                assert refused.status_code == 429
                assert refused.headers["retry-after"]
                assert refused.json()["error"]["code"] == "overloaded"
            while await metric(http, 'speech_streams_active{service="tts"}') != 0:
                pass
            for _ in range(5):  # whoever has heard the end finds the place free
                assert (await http.post("/v1/audio/speech", json=short)).status_code == 200


async def test_espeak_engine_is_speech_too() -> None:
    with speech_server_process(roles=("tts",), tts_engine="espeak") as server:
        async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
            answer = await http.post(
                "/v1/audio/speech",
                json={"model": "m", "input": TEXT, "voice": "alloy", "response_format": "pcm"},
            )
            assert share_heard(TEXT, np.frombuffer(answer.content, "<i2"), 24_000) >= 0.6
            models = (await http.get("/v1/models")).json()["data"]
            assert [model["id"] for model in models] == ["espeak-ng"]
