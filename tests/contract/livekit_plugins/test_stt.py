"""Our STT plugin against the real speech server with its built-in engine, over real sockets."""

import aiohttp
import pytest

from speech_plugins import STT
from tests.contract.livekit_plugins.caller import (
    RATE_HZ,
    Caller,
    Kind,
    frame,
    transcribed,
    utterance,
)
from tests.contract.livekit_plugins.relay import Relay
from tests.speech_server_process import SpeechServer
from tests.spoken import silence


async def test_a_spoken_turn(speech_server: SpeechServer, http: aiohttp.ClientSession) -> None:
    caller = Caller(STT(url=speech_server.url, http_session=http).stream())
    caller.say(utterance("What are your opening hours?"))
    await caller.wait_for(Kind.PREFLIGHT_TRANSCRIPT)
    assert caller.texts(Kind.FINAL_TRANSCRIPT) == []

    caller.stream.flush()
    await caller.wait_for(Kind.END_OF_SPEECH)
    kinds = [event.type for event in caller.events]
    assert kinds[0] is Kind.START_OF_SPEECH
    assert kinds.index(Kind.PREFLIGHT_TRANSCRIPT) < kinds.index(Kind.FINAL_TRANSCRIPT)
    (text,) = caller.texts(Kind.FINAL_TRANSCRIPT)
    assert "opening hours" in text.lower()
    # Nothing followed the preflight, so its text is the final one and the reply begun on it stays.
    assert caller.texts(Kind.PREFLIGHT_TRANSCRIPT)[-1] == text

    await caller.hang_up()
    assert caller.texts(Kind.FINAL_TRANSCRIPT) == [text]
    usage = [e.recognition_usage.audio_duration for e in caller.events if e.recognition_usage]
    assert sum(usage) == pytest.approx(
        len(utterance("What are your opening hours?")) / RATE_HZ, abs=0.05
    )


async def test_two_turns_in_one_stream(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    caller = Caller(STT(url=speech_server.url, http_session=http).stream())
    for number, text in enumerate(("What are your opening hours?", "Thank you, goodbye."), start=1):
        caller.say(utterance(text))
        caller.stream.flush()
        await caller.wait_for(Kind.FINAL_TRANSCRIPT, times=number)
    await caller.hang_up()
    first, second = caller.texts(Kind.FINAL_TRANSCRIPT)
    assert "opening" in first.lower()
    assert "thank you" in second.lower()
    assert "opening" not in second.lower()


async def test_a_flush_in_silence_says_nothing(
    speech_server: SpeechServer, http: aiohttp.ClientSession
) -> None:
    caller = Caller(STT(url=speech_server.url, http_session=http).stream())
    caller.say(silence(1.0, RATE_HZ))
    caller.stream.flush()
    await caller.hang_up()
    assert [e.type for e in caller.events] == [Kind.RECOGNITION_USAGE]


async def test_no_word_is_lost_when_the_line_breaks(
    relay: Relay, http: aiohttp.ClientSession
) -> None:
    caller = Caller(STT(url=relay.url, http_session=http).stream())
    pcm = utterance("What are your opening hours?")
    middle = len(pcm) // 2
    caller.say(pcm[:middle])
    await caller.wait_for(Kind.START_OF_SPEECH)
    relay.cut()
    caller.say(pcm[middle:])
    caller.stream.flush()
    await caller.wait_for(Kind.FINAL_TRANSCRIPT)
    await caller.hang_up()
    (text,) = caller.texts(Kind.FINAL_TRANSCRIPT)
    assert "what are your opening hours" in text.lower()
    assert sum(e.type is Kind.START_OF_SPEECH for e in caller.events) == 1


async def test_recordings(speech_server: SpeechServer, http: aiohttp.ClientSession) -> None:
    stt = STT(url=speech_server.url, http_session=http)
    assert "opening hours" in await transcribed(
        stt, frame(utterance("What are your opening hours?"))
    )
