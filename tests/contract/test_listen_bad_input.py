"""Whatever one client of `/v1/listen` does, the next one is served and nothing is left behind."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Iterator

import httpx
import numpy as np
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus

from tests.listen_client import listening, text
from tests.process_footprint import Footprint, peak_rss, returned
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

RATE_HZ = 16_000
QUESTION = "What are your opening hours?"
FINALIZE = {"type": "Finalize"}
KEEP_ALIVE = {"type": "KeepAlive"}
RAW = "encoding=linear16&sample_rate=16000"
IDLE_S = 8
AT_ONCE = 50
CONNECTIONS = 1_000


@pytest.fixture(scope="module")
def server() -> Iterator[SpeechServer]:
    with speech_server_process(
        ("stt",),
        stt_idle_timeout_s=str(IDLE_S),
        stt_capacity_streams=str(AT_ONCE + 10),
        stt_max_latency_s="60",  # a busy machine is not what is tested here
    ) as server:
        yield server
        # Clients that misbehave are everyday business, not a fault of the server.
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


@pytest.fixture(autouse=True)
async def nothing_is_left_behind(server: SpeechServer) -> AsyncIterator[None]:
    """Before and after each test: a stream is heard, and the process is as large as it was."""
    await question_is_heard(server)
    before = Footprint.of(server.process.pid)
    yield
    await question_is_heard(server)
    await returned(server.process.pid, before)


async def question_is_heard(server: SpeechServer) -> None:
    async with listening(server, "endpointing=false") as client:
        await client.send(silence(0.3), speak(QUESTION, "rms"), FINALIZE)
        assert text(await client.next(from_finalize=True)) == QUESTION
        assert await client.end() == 1000


async def no_stream_is_open(server: SpeechServer) -> None:
    """Wait until the server has noticed that every client is gone."""
    async with asyncio.timeout(60), httpx.AsyncClient(base_url=server.url) as http:
        while 'speech_streams_active{service="stt"} 0.0' not in (await http.get("/metrics")).text:
            pass


async def test_an_hour_of_silence_is_counted_in_samples(server: SpeechServer) -> None:
    minute = bytes(2 * 30 * RATE_HZ)
    async with listening(server, "endpointing=300&vad_events=true&utterance_end_ms=1000") as client:
        for _ in range(120):
            await client.send(minute)
        await client.send(speak(QUESTION, "rms"), silence(0.5))
        heard = await client.next(is_final=True)
        assert await client.end() == 1000
    assert text(heard) == QUESTION
    assert heard["start"] == pytest.approx(3600.0, abs=0.2)
    (started,) = client.of_type("SpeechStarted")
    assert started["timestamp"] == pytest.approx(3600.0, abs=0.2)
    (metadata,) = client.of_type("Metadata")
    question_s = len(speak(QUESTION, "rms")) / RATE_HZ
    assert metadata["duration"] == pytest.approx(3600.5 + question_s, abs=0.01)
    assert client.finals() == [QUESTION]


@pytest.mark.parametrize("level", [30, 1_500, 12_000])
async def test_noise_is_no_word(server: SpeechServer, level: int) -> None:
    noise = np.random.default_rng(3).normal(0.0, level, 10 * RATE_HZ)
    async with listening(server, "interim_results=true") as client:
        await client.send(np.clip(noise, -32768, 32767).astype(np.int16))
        assert await client.end() == 1000
    assert list(filter(None, client.finals())) == []


@pytest.mark.parametrize(
    ("gain", "offset"), [(8.0, 0), (1.0, 1_600), (1.0, -1_600)], ids=["clipped", "DC", "minus DC"]
)
async def test_distorted_speech_is_heard(server: SpeechServer, gain: float, offset: int) -> None:
    clean = np.concatenate((silence(0.5), speak(QUESTION, "rms"), silence(0.5)))
    bent = np.clip(clean.astype(np.float64) * gain + offset, -32768, 32767).astype(np.int16)
    async with listening(server, "endpointing=false") as client:
        await client.send(bent, FINALIZE)
        assert "opening hours" in text(await client.next(from_finalize=True))


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\x02", b"\x01\x02\x03"])
async def test_hardly_any_audio(server: SpeechServer, data: bytes) -> None:
    async with listening(server) as client:
        await client.send(data, FINALIZE)
        assert text(await client.next(from_finalize=True)) == ""
        await client.send(data)
        assert await client.end() == 1000
    (metadata,) = client.of_type("Metadata")
    assert metadata["duration"] == 0.0


async def test_the_longest_message_takes_little_memory(server: SpeechServer) -> None:
    before = peak_rss(server.process.pid)
    async with listening(server, "encoding=mulaw&sample_rate=8000&endpointing=false") as client:
        await client.send(b"\xff" * 1_048_576)
        assert await client.end() == 1000
    (metadata,) = client.of_type("Metadata")
    assert metadata["duration"] == pytest.approx(1_048_576 / 8_000, abs=0.01)
    # The message itself, and what the resampler needs for a quarter of a second.
    assert peak_rss(server.process.pid) - before < 64 << 20


async def test_a_slow_sender_is_heard(server: SpeechServer) -> None:
    audio = np.concatenate((silence(0.3), speak(QUESTION, "rms")))
    async with listening(server, "endpointing=300&interim_results=true") as client:
        for begin in range(0, len(audio), 3_200):
            await client.send(audio[begin : begin + 3_200])
            await asyncio.sleep(0.3)  # less audio than time: what is heard must not depend on it
        await client.send(KEEP_ALIVE, FINALIZE)
        assert text(await client.next(from_finalize=True)) == QUESTION


async def test_a_stalled_sender_is_told(server: SpeechServer) -> None:
    async with listening(server, "endpointing=false") as client:
        await client.send(silence(0.3), speak(QUESTION, "rms"))
        told = await client.next("Error")
        assert await client.closed() == 1011
    assert told["code"] == "deadline_exceeded"
    assert told["retryable"]


async def test_a_client_that_does_not_read_loses_its_place(server: SpeechServer) -> None:
    async with connect(f"{server.ws_url}/v1/listen?{RAW}", max_queue=1) as deaf:
        flood = asyncio.create_task(_flood(deaf))
        await no_stream_is_open(server)
        flood.cancel()
        await asyncio.gather(flood, return_exceptions=True)
        deaf.transport.abort()


async def _flood(client: ClientConnection) -> None:
    while True:
        await client.send(json.dumps(FINALIZE))


async def test_finalize_is_answered_once_each_time(server: SpeechServer) -> None:
    async with listening(server, "endpointing=false") as client:
        await client.send(FINALIZE)  # before any audio
        await client.next(from_finalize=True)
        await client.send(speak(QUESTION, "rms"), FINALIZE, FINALIZE)
        assert await client.end() == 1000
    assert client.finals() == ["", QUESTION, ""]
    results = [message for message in client.of_type("Results") if message["is_final"]]
    assert all(message["from_finalize"] for message in results)


async def test_what_comes_after_close_stream_is_not_heard(server: SpeechServer) -> None:
    async with listening(server, "endpointing=false") as client:
        await client.send(silence(0.3), speak(QUESTION, "rms"), {"type": "CloseStream"})
        await client.send(FINALIZE, speak(QUESTION, "rms"), b"\x00", "not json")
        assert await client.closed() == 1000
    assert client.finals() == [QUESTION]
    assert client.received[-1]["type"] == "Metadata"


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("nonsense=1", "nonsense"),
        ("endpointing=soon", "endpointing"),
        ("interim_results=perhaps", "interim_results"),
        ("language=", "language"),
        ("keyterm=" + "x" * 300, "keyterm"),
        ("%00=%ff", "unknown"),
        ("&".join(["keyterm=x"] * 101), "keyterm"),
    ],
)
async def test_unknown_values_are_refused_and_named(
    server: SpeechServer, query: str, fault: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{server.ws_url}/v1/listen?{RAW}&{query}")
    assert refused.value.response.status_code == 400
    error = json.loads(refused.value.response.body)["error"]
    assert error["code"] == "bad_request"
    assert fault in error["message"]


# --- clients that go without a word -------------------------------------------------------------

HEAD = (
    f"GET /v1/listen?{RAW} HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
).encode()
MASK = b"\x00\x00\x00\x00"
WAYS = {
    "before a word": b"",
    "amid the request": HEAD[:80],
    "as the stream opens": HEAD,
    "amid a frame's head": HEAD + b"\x82\xfe",
    "amid a frame": HEAD + b"\x82\xfe\xff\xff" + MASK + bytes(1_000),
    "amid a long message": HEAD + b"\x02\xfe\x7d\x00" + MASK + bytes(32_000),
    "amid speech": HEAD + b"\x82\xfe\x7d\x00" + MASK + speak(QUESTION, "rms")[:16_000].tobytes(),
}


async def vanish(server: SpeechServer, sent: bytes) -> None:
    """Open a connection, send some bytes, and reset it: no close frame, not even an end of file."""
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(sent)
    await writer.drain()
    if len(sent) >= len(HEAD):
        assert b"101" in await reader.readline()
    raw = writer.get_extra_info("socket")
    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@pytest.mark.parametrize("sent", WAYS.values(), ids=WAYS)
async def test_gone_in_the_middle(server: SpeechServer, sent: bytes) -> None:
    for _ in range(3):
        await vanish(server, sent)


async def test_a_thousand_connections_opened_and_dropped(server: SpeechServer) -> None:
    ways = list(WAYS.values())
    for first in range(0, CONNECTIONS, AT_ONCE):
        group = [ways[(first + n) % len(ways)] for n in range(AT_ONCE)]
        await asyncio.gather(*(vanish(server, sent) for sent in group))
        await no_stream_is_open(server)
