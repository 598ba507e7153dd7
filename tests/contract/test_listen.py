import json
from collections.abc import Iterator
from contextlib import suppress

import httpx
import numpy as np
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from speech_server.audio.pcm import int16_to_mulaw
from speech_server.protocol.listen import SERVER_MESSAGE
from tests.listen_client import listening, text
from tests.speech_server_process import SpeechServer, speech_server_process
from tests.spoken import silence, speak

QUESTION = "What are your opening hours?"
FINALIZE = {"type": "Finalize"}
OURS = "endpointing=false&preflight=true&interim_results=true&vad_events=true"
LIVEKIT = (
    "model=nova-3&punctuate=true&smart_format=false&no_delay=true&interim_results=true"
    "&encoding=linear16&vad_events=true&sample_rate=16000&channels=1&endpointing=25"
    "&filler_words=true&profanity_filter=false&numerals=false&mip_opt_out=false&language=en-US"
    "&utterance_end_ms=1000"
)


@pytest.fixture(scope="module")
def small_server() -> Iterator[SpeechServer]:
    """One stream at a time, and little patience."""
    settings = {"stt_capacity_streams": "1", "stt_idle_timeout_s": "1"}
    with speech_server_process(("stt",), **settings) as server:
        yield server
        # Clients that misbehave or vanish are everyday business, not a fault of the server.
        assert not any("Traceback" in line for line in server.log), "".join(server.log)


async def test_finalize_gives_the_text_once(speech_server: SpeechServer) -> None:
    async with listening(speech_server, OURS) as client:
        await client.send(silence(0.5), speak(QUESTION, "rms"), silence(0.3), FINALIZE)
        first = await client.next(from_finalize=True)
        await client.send(silence(0.2), FINALIZE)
        second = await client.next(from_finalize=True)
        assert await client.end() == 1000
    assert text(first) == QUESTION
    assert first["is_final"]
    assert not first["speech_final"]
    assert first["start"] == pytest.approx(0.4, abs=0.1)
    assert text(second) == ""
    assert client.finals() == [QUESTION, ""]
    (metadata,) = client.of_type("Metadata")
    sent_s = 1.0 + len(speak(QUESTION, "rms")) / 16_000
    assert metadata["duration"] == pytest.approx(sent_s, abs=0.01)


async def test_a_preflight_comes_before_finalize_with_the_final_text(
    speech_server: SpeechServer,
) -> None:
    async with listening(speech_server, OURS) as client:
        await client.send(silence(0.3), speak("When is my appointment?", "rms"), silence(0.2))
        while True:
            preflight = await client.next(preflight=True)
            if "appointment" in text(preflight):
                break
        await client.send(silence(0.5), FINALIZE)
        final = await client.next(from_finalize=True)
    assert not preflight["is_final"]
    assert text(final) == text(preflight)


async def test_every_message_is_one_of_the_protocol(speech_server: SpeechServer) -> None:
    async with listening(speech_server, OURS + "&utterance_end_ms=500") as client:
        await client.send(silence(0.3), speak(QUESTION), silence(0.7), FINALIZE)
        await client.end()
    kinds = {SERVER_MESSAGE.validate_python(message).type for message in client.received}
    assert kinds == {"SpeechStarted", "Results", "UtteranceEnd", "Metadata"}
    last = client.received[-1]
    assert last["type"] == "Metadata"


async def test_a_stock_livekit_client_is_served(speech_server: SpeechServer) -> None:
    async with listening(speech_server, LIVEKIT) as client:
        question, statement = speak(QUESTION, "rms"), speak("Thank you, goodbye.", "rms")
        await client.send(silence(0.3), question, silence(0.6), statement, silence(1.5))
        await client.next("UtteranceEnd")
        await client.end()
    started = client.of_type("SpeechStarted")
    assert len(started) >= 2
    finals = [message for message in client.of_type("Results") if message["is_final"]]
    assert all(message["speech_final"] for message in finals)
    assert QUESTION in " ".join(client.finals())
    assert "bye" in client.finals()[-1]
    for message in client.of_type("Results"):
        assert "preflight" not in message
        alternative = message["channel"]["alternatives"][0]
        assert alternative["words"] == []  # this engine knows no word times
        assert alternative["confidence"] == 0.0
    (metadata,) = client.of_type("Metadata")
    assert metadata["request_id"] == finals[0]["metadata"]["request_id"]


async def test_close_stream_finishes_what_was_said(speech_server: SpeechServer) -> None:
    async with listening(speech_server, "endpointing=false") as client:
        await client.send(silence(0.2), speak(QUESTION, "rms"))
        assert await client.end() == 1000
    assert client.finals() == [QUESTION]
    assert not client.of_type("Results")[-1]["from_finalize"]


@pytest.mark.parametrize("rate_hz", [24_000, 48_000])
async def test_other_sample_rates(speech_server: SpeechServer, rate_hz: int) -> None:
    query = f"encoding=linear16&sample_rate={rate_hz}&endpointing=false"
    async with listening(speech_server, query) as client:
        await client.send(silence(0.3, rate_hz), speak(QUESTION, "rms", rate_hz), FINALIZE)
        assert text(await client.next(from_finalize=True)) == QUESTION


async def test_mulaw_from_a_phone_line(speech_server: SpeechServer) -> None:
    query = "encoding=mulaw&sample_rate=8000&endpointing=false"
    async with listening(speech_server, query) as client:
        audio = np.concatenate((silence(0.3, 8_000), speak(QUESTION, "rms", 8_000)))
        await client.send(int16_to_mulaw(audio), FINALIZE)
        assert "opening" in text(await client.next(from_finalize=True))


async def test_messages_may_cut_samples_in_two(speech_server: SpeechServer) -> None:
    data = np.concatenate((silence(0.3), speak(QUESTION, "rms"))).tobytes()
    async with listening(speech_server, "endpointing=false") as client:
        await client.send(*[data[at : at + 333] for at in range(0, len(data), 333)], b"", FINALIZE)
        assert text(await client.next(from_finalize=True)) == QUESTION


async def test_a_sender_faster_than_real_time_loses_nothing(speech_server: SpeechServer) -> None:
    sentence = np.concatenate((speak("When is my appointment?", "rms"), silence(0.6)))
    async with listening(speech_server, "endpointing=300") as client:
        await client.send(np.tile(sentence, 12).tobytes())
        await client.end()
    assert " ".join(client.finals()).count("appointment") == 12


async def test_streams_are_independent(speech_server: SpeechServer) -> None:
    async with (
        listening(speech_server, "endpointing=false") as first,
        listening(speech_server, "endpointing=false") as second,
    ):
        await first.send(silence(0.2), speak(QUESTION, "rms"))
        await second.send(silence(0.2), speak("Thank you, goodbye.", "rms"))
        await first.send(FINALIZE)
        await second.send(FINALIZE)
        assert text(await first.next(from_finalize=True)) == QUESTION
        assert "bye" in text(await second.next(from_finalize=True))


@pytest.mark.parametrize(
    ("message", "error", "close_code"),
    [
        ("not json", "bad_request", 1008),
        ("[]", "bad_request", 1008),
        ('{"type":"Nonsense"}', "bad_request", 1008),
        ('{"type":"Finalize","extra":1}', "bad_request", 1008),
        ('{"type":"KeepAlive"' + " " * 5000 + "}", "payload_too_large", 1009),
        ("\u0000", "bad_request", 1008),
    ],
)
async def test_a_wrong_message_is_told_and_ends_only_its_stream(
    speech_server: SpeechServer, message: str, error: str, close_code: int
) -> None:
    async with listening(speech_server) as client:
        await client.send(message)
        told = await client.next("Error")
        assert await client.closed() == close_code
    assert told["code"] == error
    assert not told["retryable"]
    async with listening(speech_server) as client:
        await client.send(FINALIZE)
        await client.next(from_finalize=True)


async def test_a_message_beyond_the_limit_closes_the_stream(speech_server: SpeechServer) -> None:
    async with listening(speech_server) as client:
        with suppress(ConnectionClosed):  # it may be told before it has sent it all
            await client.send(bytes(2_000_000))
        # A connection that is cut while the client still sends may lose the reason.
        assert await client.closed() in {1009, 1006}


async def test_random_bytes_are_only_noise(speech_server: SpeechServer) -> None:
    async with listening(speech_server) as client:
        await client.send(np.random.default_rng(1).bytes(64_001))
        assert await client.end() == 1000


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("", "encoding and sample_rate"),
        ("encoding=linear16&sample_rate=16000&channels=2", "channels"),
        ("encoding=linear16&sample_rate=16000&language=fr", "language"),
        ("encoding=linear16&sample_rate=16000&redact=ssn", "redact"),
        ("encoding=linear16&sample_rate=16000&diarise=true", "unknown parameter: diarise"),
    ],
)
async def test_a_wrong_query_is_refused_before_the_stream_opens(
    speech_server: SpeechServer, query: str, fault: str
) -> None:
    with pytest.raises(InvalidStatus) as refused:
        await connect(f"{speech_server.ws_url}/v1/listen?{query}")
    response = refused.value.response
    assert response.status_code == 400
    error = json.loads(response.body)["error"]
    assert error["code"] == "bad_request"
    assert fault in error["message"]


async def test_beyond_capacity_a_stream_is_refused_and_the_running_one_goes_on(
    small_server: SpeechServer,
) -> None:
    async with listening(small_server, "endpointing=false") as client:
        await client.send(silence(0.2), speak(QUESTION, "rms"))
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"{small_server.ws_url}/v1/listen?encoding=linear16&sample_rate=16000")
        response = refused.value.response
        assert response.status_code == 429
        assert response.headers["Retry-After"] == "1"
        assert json.loads(response.body)["error"]["code"] == "overloaded"
        upload = await _post(small_server, b"x")
        assert upload.status_code == 429
        await client.send(FINALIZE)
        assert text(await client.next(from_finalize=True)) == QUESTION
        await client.end()
    assert (await _post(small_server, b"x")).status_code == 400  # there is room again


async def test_a_client_that_vanishes_leaves_its_place(small_server: SpeechServer) -> None:
    for _ in range(3):
        socket = await connect(
            f"{small_server.ws_url}/v1/listen?encoding=linear16&sample_rate=16000"
        )
        await socket.send(speak(QUESTION, "rms").tobytes())
        socket.transport.abort()
        await socket.wait_closed()
        # The server learns of it as soon as it reads on; until then it rightly refuses.
        while (await _post(small_server, b"x")).status_code == 429:
            pass


async def test_an_idle_stream_is_ended_unless_it_says_keep_alive(
    small_server: SpeechServer,
) -> None:
    async with listening(small_server) as client:
        await client.send({"type": "KeepAlive"})
        told = await client.next("Error")
        assert await client.closed() == 1011
    assert told["code"] == "deadline_exceeded"


async def _post(server: SpeechServer, body: bytes) -> httpx.Response:
    async with httpx.AsyncClient(base_url=server.url, timeout=30) as http:
        return await http.post("/v1/listen", content=body)
