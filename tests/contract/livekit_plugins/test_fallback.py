"""Two real speech servers, of which the first is killed or stopped in the middle of its work.

A stopped process (SIGSTOP) is the worst kind: its connections stay open and say nothing.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator

import aiohttp
import pytest
from livekit import rtc
from livekit.agents.types import USERDATA_TIMED_TRANSCRIPT

from speech_plugins import STT
from speech_plugins.fallback_stt import FallbackSTT
from speech_plugins.fallback_tts import FallbackTTS
from tests.contract.livekit_plugins.caller import (
    Caller,
    Kind,
    heard,
    no_stream_left,
    server_metric,
    transcribed,
    utterance,
)
from tests.speech_server_process import SpeechServer, speech_server_process

QUESTION = "What are your opening hours?"
REPLY = "Your appointment is booked. It is on Tuesday at noon. Please come a little early."
ACTIVE = 'speech_streams_active{{service="{}"}}'


@pytest.fixture(scope="module")
def _first() -> Iterator[SpeechServer]:
    with speech_server_process() as server:
        yield server
        server.process.send_signal(signal.SIGCONT)


@pytest.fixture
async def first(_first: SpeechServer, http: aiohttp.ClientSession) -> AsyncIterator[SpeechServer]:
    """A server that the test may stop; it goes on afterwards."""
    yield _first
    _first.process.send_signal(signal.SIGCONT)
    await no_stream_left(http, _first.url, "stt")
    await no_stream_left(http, _first.url, "tts")


def stop(server: SpeechServer) -> None:
    server.process.send_signal(signal.SIGSTOP)


def kill(server: SpeechServer) -> None:
    server.process.kill()


def finals(caller: Caller) -> list[str]:
    return [text.lower() for text in caller.texts(Kind.FINAL_TRANSCRIPT)]


async def heard_while(
    tts: FallbackTTS, at_frame: int, do: Callable[[], None]
) -> tuple[rtc.AudioFrame, str]:
    """The reply's audio and words; something happens at a frame of it, before the text's rest."""
    stream = tts.stream()
    stream.push_text(REPLY[:40])
    if not at_frame:
        do()
        stream.push_text(REPLY[40:])
        stream.end_input()
    frames: list[rtc.AudioFrame] = []
    words = ""
    async for event in stream:
        frames.append(event.frame)
        words += "".join(map(str, event.frame.userdata.get(USERDATA_TIMED_TRANSCRIPT, [])))
        if len(frames) == at_frame:
            do()
            stream.push_text(REPLY[40:])
            stream.end_input()
    await stream.aclose()
    return rtc.combine_audio_frames(frames), words


async def said_once(audio: rtc.AudioFrame, stt: STT) -> None:
    text = await transcribed(stt, audio)
    for word in ("appointment", "booked", "tuesday", "noon", "early"):
        assert text.count(word) == 1, f"{word!r} in {text!r}"


async def test_a_killed_server_costs_no_word_and_repeats_none(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    with speech_server_process() as first:
        urls = {"url": first.url, "fallback_url": speech_server.url}
        stt = FallbackSTT(**urls, http_session=http)
        tts = FallbackTTS(**urls, word_times=True, http_session=http)
        caller = Caller(stt.stream())
        pcm = utterance(QUESTION)
        middle = len(pcm) // 2
        caller.say(pcm[:middle])
        await caller.wait_for(Kind.START_OF_SPEECH)

        audio, words = await heard_while(tts, 4, lambda: kill(first))
        assert words.split() == REPLY.split()
        await said_once(audio, STT(url=speech_server.url, http_session=http))

        caller.say(pcm[middle:])
        caller.stream.flush()
        await caller.wait_for(Kind.FINAL_TRANSCRIPT)
        await caller.hang_up()
        (text,) = finals(caller)
        assert "what are your opening hours" in text
        assert sum(event.type is Kind.START_OF_SPEECH for event in caller.events) == 1
        await tts.aclose()
        await stt.aclose()


async def test_a_turn_that_a_stopped_server_owes_comes_from_the_second(
    first: SpeechServer, speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    stt = FallbackSTT(
        url=first.url, fallback_url=speech_server.url, http_session=http, probe_interval_s=0.1
    )
    caller = Caller(stt.stream())
    caller.say(utterance(QUESTION))
    await caller.wait_for(Kind.PREFLIGHT_TRANSCRIPT)
    stop(first)
    caller.stream.flush()
    await caller.wait_for(Kind.END_OF_SPEECH)
    assert len(finals(caller)) == 1
    assert "opening hours" in finals(caller)[0]

    # It goes on, and so does the next turn, on it.
    first.process.send_signal(signal.SIGCONT)
    async with asyncio.timeout(10):
        while not await server_metric(http, first.url, ACTIVE.format("stt")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await no_stream_left(http, speech_server.url, "stt")
    caller.say(utterance("Thank you, goodbye."))
    await caller.wait_for(Kind.PREFLIGHT_TRANSCRIPT, times=2)
    caller.stream.flush()
    await caller.wait_for(Kind.END_OF_SPEECH, times=2)
    await caller.hang_up()
    assert len(finals(caller)) == 2
    assert "thank you" in finals(caller)[1]
    assert "opening" not in finals(caller)[1]
    await stt.aclose()


@pytest.mark.parametrize("at_frame", [0, 4], ids=["before its first sound", "mid-reply"])
async def test_a_reply_that_a_stopped_server_owes_comes_from_the_second(
    first: SpeechServer, speech_server: SpeechServer, http: aiohttp.ClientSession, at_frame: int
) -> None:
    tts = FallbackTTS(
        url=first.url, fallback_url=speech_server.url, http_session=http, probe_interval_s=0.1
    )
    await heard(tts, "Good morning.")  # from now on it is known that words are timed
    audio, _ = await heard_while(tts, at_frame, lambda: stop(first))
    await said_once(audio, STT(url=speech_server.url, http_session=http))
    await tts.aclose()
