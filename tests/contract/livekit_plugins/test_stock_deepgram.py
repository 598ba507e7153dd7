"""LiveKit's `deepgram` plugin, unmodified, pointed at the speech server by its URL alone."""

import asyncio

import aiohttp
import numpy as np
import pytest
from livekit import rtc
from livekit.agents import APIConnectOptions, APIStatusError
from livekit.agents.stt import RecognizeStream, SpeechEventType
from livekit.plugins import deepgram

from tests.speech_server_process import SpeechServer
from tests.spoken import silence, speak

QUESTION = "What are your opening hours?"
WISH = "I would like to book a table for tomorrow."
RATE_HZ = 24_000
"""What a LiveKit room delivers; the plugin resamples."""
ONCE = APIConnectOptions(max_retry=0, timeout=5.0)
START, FINAL, END = (
    SpeechEventType.START_OF_SPEECH,
    SpeechEventType.FINAL_TRANSCRIPT,
    SpeechEventType.END_OF_SPEECH,
)


def plugin(server: SpeechServer, http: aiohttp.ClientSession, **options: object) -> deepgram.STT:
    options = {"api_key": server.api_key} | options
    return deepgram.STT(base_url=f"{server.url}/v1/listen", http_session=http, **options)


def utterance(text: str, pause_s: float = 0.6) -> rtc.AudioFrame:
    pcm = np.concatenate([silence(0.2, RATE_HZ), speak(text, rate_hz=RATE_HZ)])
    pcm = np.concatenate([pcm, silence(pause_s, RATE_HZ)]).astype(np.int16)
    return rtc.AudioFrame(pcm.tobytes(), RATE_HZ, 1, len(pcm))


async def until(stream: RecognizeStream, kind: SpeechEventType) -> list[tuple[str, str]]:
    """The events up to the first of a kind, each with its text; interims come when they may."""
    events: list[tuple[str, str]] = []
    async with asyncio.timeout(30):
        async for event in stream:
            text = event.alternatives[0].text if event.alternatives else ""
            if event.type in {START, FINAL, END}:
                events.append((event.type, text))
            if event.type is kind:
                return events
    raise AssertionError(f"the stream ended without {kind}: {events}")


async def test_turn_after_turn(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    async with plugin(keyed_speech_server, http).stream(conn_options=ONCE) as stream:
        for text in (QUESTION, WISH):
            stream.push_frame(utterance(text))
            assert await until(stream, END) == [(START, ""), (FINAL, text), (END, "")]
        stream.push_frame(utterance(QUESTION, pause_s=0.0))
        stream.end_input()
        assert await until(stream, FINAL) == [(START, ""), (FINAL, QUESTION)]


async def test_finalize_ends_the_utterance(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    """Without the server's endpointing the plugin's flush alone brings the final, in mid-stream."""
    stt = plugin(keyed_speech_server, http, endpointing_ms=0)
    async with stt.stream(conn_options=ONCE) as stream:
        for text in (QUESTION, WISH):
            stream.push_frame(utterance(text, pause_s=0.3))
            stream.flush()
            assert (await until(stream, FINAL))[-1] == (FINAL, text)


async def test_all_that_its_users_can_switch_on(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    stt = plugin(
        keyed_speech_server,
        http,
        smart_format=True,
        numerals=True,
        mip_opt_out=True,
        keyterm=["opening hours", "table"],
        tags=["reception"],
        utterance_end_ms=1000,
    )
    async with stt.stream(conn_options=ONCE) as stream:
        stream.push_frame(utterance(QUESTION))
        assert (await until(stream, END))[-2:] == [(FINAL, QUESTION), (END, "")]


async def test_batch(keyed_speech_server: SpeechServer, http: aiohttp.ClientSession) -> None:
    stt = plugin(keyed_speech_server, http)
    event = await stt.recognize([utterance(QUESTION), utterance(WISH)], conn_options=ONCE)
    assert event.alternatives[0].text == f"{QUESTION} {WISH}"


async def test_a_session_that_is_abandoned_frees_its_place(
    keyed_speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    stream = plugin(keyed_speech_server, http).stream(conn_options=ONCE)
    stream.push_frame(utterance(QUESTION, pause_s=0.0))
    await until(stream, START)
    await stream.aclose()
    active = 'speech_streams_active{service="stt"} 0.0'
    while active not in await (await http.get(f"{keyed_speech_server.url}/metrics")).text():
        pass  # the answer of /metrics is what is waited for


@pytest.mark.parametrize(
    ("options", "status"),
    [({"enable_diarization": True}, 400), ({"language": "fr"}, 400), ({"api_key": "wrong"}, 401)],
)
async def test_a_refusal_is_seen_as_one(
    keyed_speech_server: SpeechServer,
    http: aiohttp.ClientSession,
    options: dict[str, object],
    status: int,
) -> None:
    stt = plugin(keyed_speech_server, http, **options)
    async with stt.stream(conn_options=ONCE) as stream:
        stream.push_frame(utterance(QUESTION))
        with pytest.raises(APIStatusError) as caught:
            await until(stream, FINAL)
    assert caught.value.status_code == status
    assert not caught.value.retryable
