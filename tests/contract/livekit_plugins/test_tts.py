"""Our TTS plugin against the real speech server with its built-in engine, over real sockets."""

import asyncio

import aiohttp
import pytest
from livekit import rtc
from livekit.agents import APIStatusError
from livekit.agents.metrics import TTSMetrics
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT

from speech_plugins import STT, TTS
from tests.contract.livekit_plugins.caller import ONCE, RATE_HZ, heard, no_stream_left, transcribed
from tests.contract.livekit_plugins.relay import Relay
from tests.speech_server_process import SpeechServer

REPLY = "Your appointment is booked. It is on Tuesday at noon. Please come a little early."


async def test_a_reply_is_heard_as_written(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=speech_server.url, http_session=http)
    audio = await heard(tts, "What are your opening hours?")
    assert (audio.sample_rate, audio.num_channels) == (RATE_HZ, 1)
    stt = STT(url=speech_server.url, http_session=http)
    assert "opening hours" in await transcribed(stt, audio)
    await tts.aclose()


async def test_one_connection_for_all_replies(relay: Relay, http: aiohttp.ClientSession) -> None:
    tts = TTS(url=relay.url, http_session=http)
    metrics: list[TTSMetrics] = []
    tts.on("metrics_collected", metrics.append)
    await asyncio.gather(heard(tts, "One."), heard(tts, "Two."))
    await heard(tts, "Three.")
    assert relay.connections == 1
    assert metrics[-1].connection_reused
    assert metrics[-1].ttfb > 0
    await tts.aclose()


async def test_an_interruption_stops_the_server(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=speech_server.url, http_session=http)
    stream = tts.stream(conn_options=ONCE)
    stream.push_text("This is a rather long story about nothing in particular. " * 40)
    stream.end_input()
    await stream.__anext__()
    await stream.aclose()
    await no_stream_left(http, speech_server.url, "tts")
    # The connection is as good as before.
    assert (await heard(tts, "Yes?")).duration > 0.1
    await tts.aclose()


async def test_a_word_is_not_said_twice_when_the_line_breaks(
    relay: Relay, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=relay.url, word_times=True, http_session=http)
    whole = await heard(tts, REPLY)

    stream = tts.stream()
    stream.push_text(REPLY[:40])
    said: list[str] = []
    pieces: list[rtc.AudioFrame] = []
    async for event in stream:
        pieces.append(event.frame)
        said += map(str, event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, []))
        if len(pieces) == 4:
            relay.cut()
            stream.push_text(REPLY[40:])
            stream.end_input()
    await stream.aclose()
    assert relay.connections == 2
    assert "".join(said).split() == REPLY.split()
    broken = rtc.combine_audio_frames(pieces)
    assert broken.duration == pytest.approx(whole.duration, rel=0.25)
    stt = STT(url=relay.url, http_session=http)
    text = await transcribed(stt, broken)
    assert text.count("booked") == 1
    assert "noon" in text
    await tts.aclose()


async def test_a_text_of_any_length(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=speech_server.url, http_session=http)
    async with tts.synthesize("", conn_options=ONCE) as stream:
        assert [event async for event in stream] == []
    async with tts.synthesize("A", conn_options=ONCE) as stream:
        assert (await stream.collect()).duration > 0.05
    async with tts.synthesize("One more sentence. " * 180, conn_options=ONCE) as stream:
        assert (await stream.collect()).duration > 100
    await tts.aclose()


async def test_a_voice_that_does_not_exist(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=speech_server.url, voice="nobody", http_session=http)
    with pytest.raises(APIStatusError, match="no such voice") as caught:
        await heard(tts, "Hello.")
    assert not caught.value.retryable
    await tts.aclose()
