"""A reply that breaks off on one server goes on where it broke on the other."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import aiohttp
import pytest
from livekit.agents import APIConnectionError, APIConnectOptions

from speech_plugins.fallback import FirstProvider
from speech_plugins.fallback_tts import FallbackTTS, _TwoSockets
from tests.unit.speech_plugins.attempts import ONCE
from tests.unit.speech_plugins.fake_speech_server import (
    FakeSpeechServer,
    chunk,
    done,
    flush_done,
    speak_error,
    timestamps,
)
from tests.unit.speech_plugins.speaking import say

QUICK = APIConnectOptions(max_retry=8, retry_interval=0.01, timeout=0.1)
"""A server that owes audio this long, seconds, counts as hung."""


class Two(NamedTuple):
    first: FakeSpeechServer
    second: FakeSpeechServer
    tts: FallbackTTS

    @property
    def provider(self) -> FirstProvider:
        assert isinstance(self.tts._socket, _TwoSockets)
        return self.tts._socket._provider


@pytest.fixture
async def two(http: aiohttp.ClientSession) -> AsyncIterator[Two]:
    async with FakeSpeechServer.running() as first, FakeSpeechServer.running() as second:
        tts = FallbackTTS(
            url=first.url,
            fallback_url=second.url,
            voice="tara",
            http_session=http,
            probe_interval_s=3600,
        )
        yield Two(first, second, tts)
        await tts.aclose()


async def test_the_first_speaks_while_it_is_well(two: Two) -> None:
    listener = say(two.tts, "Hello.")
    peer = await two.first.accept()
    message = await peer.receive()
    assert message["voice"] == {"mode": "id", "id": "tara"}
    await peer.speak(message["context_id"], 0.5)
    await listener.finish()
    assert two.second.connects == 0


@pytest.mark.parametrize("status", [429, 503, 401])
async def test_one_that_refuses_is_left_at_once(two: Two, status: int) -> None:
    two.first.refusals.append(status)
    listener = say(two.tts, "Hello.", ONCE)  # without a retry of the framework
    peer, context, text = await two.second.accept_reply()
    assert text == "Hello."
    await peer.speak(context, 0.5)
    await listener.finish()
    assert listener.audio_s == pytest.approx(0.5)


async def test_the_second_is_asked_for_a_voice_that_it_has(http: aiohttp.ClientSession) -> None:
    async with FakeSpeechServer.running() as first, FakeSpeechServer.running() as second:
        for voice in (None, "slt"):
            first.refusals.append(503)
            tts = FallbackTTS(
                url=first.url,
                fallback_url=second.url,
                fallback_voice=voice,
                voice="tara",
                language="en",
                http_session=http,
            )
            listener = say(tts, "Hello.")
            peer = await second.accept()
            message = await peer.receive()
            assert message.get("voice") == ({"mode": "id", "id": voice} if voice else None)
            assert message["language"] == "en"
            await peer.speak(message["context_id"], 0.5)
            await listener.finish()
            await tts.aclose()


async def test_a_reply_goes_on_at_the_word_that_was_cut(two: Two) -> None:
    listener = say(two.tts, "Your visit is on Tuesday at noon. Bye.")
    peer, context, _ = await two.first.accept_reply()
    await peer.send(timestamps(context, ("Your", 0.0, 0.2), ("visit", 0.2, 0.5), ("is", 0.5, 0.6)))
    await peer.send(chunk(context, 0.55, value=1))
    await listener.heard()
    peer.drop()

    other, context, text = await two.second.accept_reply()
    assert text == " is on Tuesday at noon. Bye."
    await other.send(timestamps(context, ("is", 0.1, 0.3)))
    await other.send(chunk(context, 1.0, value=2))
    await other.send(done(context))
    await listener.finish()
    assert listener.samples.count(1) == round(0.55 * 24_000)
    assert listener.samples.count(2) == 24_000


async def test_a_reply_that_hangs_goes_on_elsewhere(two: Two) -> None:
    listener = say(two.tts, "It is booked. It is at noon.", QUICK)
    peer, context, _ = await two.first.accept_reply()
    await peer.send(chunk(context, 0.5))
    await peer.send(flush_done(context))  # and says no more

    other, context, text = await two.second.accept_reply()
    assert text == "It is at noon."
    await other.speak(context, 0.4)
    await listener.finish()
    assert listener.audio_s == pytest.approx(0.9)
    # What looked open is closed, so that the first is asked on a new connection.
    await peer.wait_gone()


async def test_a_sentence_is_not_begun_twice_where_one_of_them_tells_no_words(two: Two) -> None:
    listener = say(two.tts, "It is booked. It is at noon. Goodbye now.", QUICK)
    peer, context, _ = await two.first.accept_reply()
    await peer.send(timestamps(context, ("It", 0.0, 0.2)))
    await peer.send(chunk(context, 0.2))
    await listener.heard()
    peer.drop()

    other, context, text = await two.second.accept_reply()
    assert text == " is booked. It is at noon. Goodbye now."
    await other.send(chunk(context, 0.5))
    await other.send(flush_done(context))
    await other.send(chunk(context, 0.3, value=9))
    while 9 not in listener.samples:
        listener._heard.clear()
        await listener.heard()
    other.drop()
    # Half of "It is at noon." was heard, nobody knows which half.
    other, context, text = await two.second.accept_reply()
    assert text == "Goodbye now."
    await other.speak(context, 0.4)
    await listener.finish()
    assert not two.tts.capabilities.aligned_transcript


@pytest.mark.parametrize("retryable", [True, False])
async def test_what_one_cannot_speak_the_other_may(two: Two, retryable: bool) -> None:
    listener = say(two.tts, "Hello.")
    peer, context, _ = await two.first.accept_reply()
    await peer.send(speak_error(context, 500, "engine_failed", retryable))
    other, context, text = await two.second.accept_reply()
    assert text == "Hello."
    await other.speak(context, 0.5)
    await listener.finish()


async def test_replies_go_back_to_the_first(two: Two) -> None:
    two.provider._interval_s = 0.001
    back = asyncio.Event()
    two.provider.call_when_well(back.set)
    two.first.refusals.append(503)
    listener = say(two.tts, "One.")
    other, context, _ = await two.second.accept_reply()
    await other.speak(context, 0.5)
    await listener.finish()
    async with asyncio.timeout(10):
        await back.wait()
    listener = say(two.tts, "Two.")
    peer, context, text = await two.first.accept_reply()
    assert text == "Two."
    await peer.speak(context, 0.5)
    await listener.finish()


async def test_prewarming_finds_out(two: Two) -> None:
    two.first.refusals.append(503)
    two.tts.prewarm()
    await two.second.accept()
    assert not two.provider.is_well


async def test_when_both_are_gone_it_is_told(http: aiohttp.ClientSession) -> None:
    async with FakeSpeechServer.running() as first, FakeSpeechServer.running() as second:
        urls = {"url": first.url, "fallback_url": second.url}
    tts = FallbackTTS(**urls, http_session=http)
    with pytest.raises(APIConnectionError):
        await say(tts, "Hello.", ONCE).finish()
    await tts.aclose()
