"""Our plugins before servers that refuse, die and come back."""

import asyncio

import aiohttp
import pytest
from livekit.agents import APIConnectionError, APIConnectOptions, APIStatusError

from speech_plugins import STT, TTS
from tests.contract.livekit_plugins.caller import (
    ONCE,
    RATE_HZ,
    Caller,
    Kind,
    frame,
    heard,
    utterance,
)
from tests.contract.livekit_plugins.relay import Relay
from tests.speech_server_process import speech_server_process
from tests.spoken import silence


async def test_a_key_and_a_full_house(http: aiohttp.ClientSession) -> None:
    with speech_server_process(
        speech_api_key="secret", stt_capacity_streams="1", tts_capacity_streams="1"
    ) as server:
        with pytest.raises(APIStatusError) as caught:
            await heard(TTS(url=server.url, http_session=http), "Hello.")
        assert not caught.value.retryable

        stt = STT(url=server.url, api_key="secret", http_session=http)
        first = Caller(stt.stream(conn_options=ONCE))
        first.say(utterance("Hello there."))
        await first.wait_for(Kind.START_OF_SPEECH)
        second = Caller(stt.stream(conn_options=ONCE))
        with pytest.raises(APIStatusError) as caught:
            await second.task
        assert caught.value.status_code == 429
        assert caught.value.retryable
        first.stream.flush()
        await first.wait_for(Kind.FINAL_TRANSCRIPT)  # the running one is unharmed
        await first.hang_up()

        tts = TTS(url=server.url, api_key="secret", http_session=http)
        long = tts.stream(conn_options=ONCE)
        long.push_text("This is a rather long story. " * 100)
        await long.__anext__()
        with pytest.raises(APIStatusError) as caught:
            await heard(tts, "Me too.")
        assert caught.value.status_code == 429
        await long.aclose()
        # With the usual options the place that becomes free is taken.
        assert (await heard(tts, "Now me.", APIConnectOptions(retry_interval=0.1))).duration > 0.1
        await tts.aclose()


async def test_a_restart_is_outlived(http: aiohttp.ClientSession) -> None:
    patient = APIConnectOptions(max_retry=200, retry_interval=0.1, timeout=3.0)
    async with Relay.running() as relay:
        stt = STT(url=relay.url, http_session=http)
        tts = TTS(url=relay.url, http_session=http)
        with speech_server_process() as server:
            relay.upstream = server.port
            await heard(tts, "Before.")
            caller = Caller(stt.stream(conn_options=patient))
            caller.say(utterance("What are your opening hours?", after_s=0.0))
            await caller.wait_for(Kind.START_OF_SPEECH)
            await asyncio.to_thread(server.stop)

        with pytest.raises(APIConnectionError):
            await heard(tts, "Nobody there.")
        with pytest.raises(APIConnectionError):
            await stt.recognize(frame(silence(0.1, RATE_HZ)), conn_options=ONCE)

        with speech_server_process() as server:
            relay.upstream = server.port
            assert (await heard(tts, "After.")).duration > 0.1
            caller.say(silence(0.4, RATE_HZ))
            caller.stream.flush()
            await caller.wait_for(Kind.FINAL_TRANSCRIPT)
            await caller.hang_up()
            text = caller.texts(Kind.FINAL_TRANSCRIPT)[0].lower()
            assert text.startswith("what are your")
            assert text.endswith("hours?")
            await tts.aclose()
