import asyncio
import socket
from collections.abc import AsyncIterator
from typing import NamedTuple

import aiohttp
import pytest
from livekit.agents import APIConnectionError

from speech_plugins import fallback_stt
from speech_plugins.fallback import FirstProvider
from speech_plugins.fallback_speech_server import FirstSpeechServer
from speech_plugins.fallback_stt import FallbackSTT
from tests.unit.speech_plugins.attempts import FAST, ONCE
from tests.unit.speech_plugins.fake_speech_server import (
    SPEECH_STARTED,
    FakeSpeechServer,
    Peer,
    final,
    results,
)
from tests.unit.speech_plugins.listening import Events, Kind, expect_finalize, frame, values


class Health:
    """What the first server says when it is asked whether it is back."""

    def __init__(self) -> None:
        self.well = False

    async def check_ready(self) -> None:
        if not self.well:
            raise APIConnectionError("it is not ready")

    async def recover(self, provider: FirstProvider) -> None:
        back = asyncio.Event()
        provider.call_when_well(back.set)
        self.well = True
        async with asyncio.timeout(10):
            await back.wait()


@pytest.fixture
def health(monkeypatch: pytest.MonkeyPatch) -> Health:
    health = Health()
    monkeypatch.setattr(FirstSpeechServer, "check_ready", lambda server: health.check_ready())
    return health


class Two(NamedTuple):
    first: FakeSpeechServer
    second: FakeSpeechServer
    stt: FallbackSTT

    def listen(self) -> Events:
        return Events(self.stt.stream(conn_options=FAST))

    @property
    def provider(self) -> FirstProvider:
        server = self.stt._server
        assert isinstance(server, fallback_stt._TwoServers)
        return server._provider


@pytest.fixture
async def two(http: aiohttp.ClientSession, health: Health) -> AsyncIterator[Two]:
    async with FakeSpeechServer.running() as first, FakeSpeechServer.running() as second:
        stt = FallbackSTT(
            url=first.url, fallback_url=second.url, http_session=http, probe_interval_s=0.001
        )
        yield Two(first, second, stt)
        await stt.aclose()


async def say(events: Events, peer: Peer, *numbers: int) -> None:
    for number in numbers:
        events._stream.push_frame(frame(number))
    audio = await peer.receive_audio(640 * len(numbers))
    assert values(audio) == list(numbers)


async def replayed(peer: Peer, *numbers: int) -> None:
    assert values(await peer.receive_audio(640 * len(numbers))) == list(numbers)


async def test_the_first_serves_while_it_is_well(two: Two) -> None:
    events = two.listen()
    peer = await two.first.accept()
    await say(events, peer, 1)
    events._stream.flush()
    await expect_finalize(peer)
    await peer.send(SPEECH_STARTED)
    await peer.send(final("hello"))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert [text for kind, text in events.spoken if kind is Kind.FINAL_TRANSCRIPT] == ["hello"]
    assert two.second.connects == 0


@pytest.mark.parametrize("status", [429, 503, 401])
async def test_one_that_refuses_is_left_at_once(two: Two, status: int) -> None:
    two.first.refusals.append(status)
    events = two.listen()
    await say(events, await two.second.accept(), 7)
    assert not two.provider.is_well


async def test_one_that_does_not_answer_the_handshake_is_left_soon(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_stt, "CONNECT_HEAD_START_S", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as mute:  # the kernel takes the connection
        url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        stt = FallbackSTT(url=url, fallback_url=two.second.url)
        stream = stt.stream(conn_options=FAST)
        await two.second.accept()
        await stream.aclose()
        await stt.aclose()


async def test_words_in_the_air_go_to_the_second(two: Two) -> None:
    events = two.listen()
    peer = await two.first.accept()
    await say(events, peer, 1, 2)
    await peer.send(SPEECH_STARTED)
    await events.wait_for(Kind.START_OF_SPEECH)
    peer.drop()

    other = await two.second.accept()
    await replayed(other, 1, 2)
    await say(events, other, 3)
    await other.send(SPEECH_STARTED)
    await other.send(results("one two", preflight=True))
    events._stream.flush()
    await expect_finalize(other)
    await other.send(final("one two three"))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert events.spoken == [
        (Kind.START_OF_SPEECH, ""),
        (Kind.PREFLIGHT_TRANSCRIPT, "one two"),
        (Kind.FINAL_TRANSCRIPT, "one two three"),
        (Kind.END_OF_SPEECH, ""),
    ]


async def test_a_final_that_is_late_comes_from_the_second(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_stt, "ATTEMPT_TIMEOUT_S", 0.05)
    events = two.listen()
    peer = await two.first.accept()
    await say(events, peer, 1)
    await peer.send(SPEECH_STARTED)
    events._stream.flush()
    await expect_finalize(peer)  # and says no more

    other = await two.second.accept()
    await replayed(other, 1)
    await expect_finalize(other)
    await other.send(final("one"))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert [text for kind, text in events.spoken if kind is Kind.FINAL_TRANSCRIPT] == ["one"]


async def test_interims_do_not_excuse_a_late_final(
    two: Two, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fallback_stt, "ATTEMPT_TIMEOUT_S", 0.05)
    events = two.listen()
    peer = await two.first.accept()
    await say(events, peer, 1)
    events._stream.flush()
    await expect_finalize(peer)

    async def babble() -> None:
        while not peer.gone.is_set():
            await peer.send(results("one"))
            await asyncio.sleep(0.005)

    babbling = asyncio.create_task(babble())
    await two.second.accept()
    babbling.cancel()


@pytest.mark.parametrize("retryable", [True, False])
async def test_one_that_gives_up_is_left(two: Two, retryable: bool) -> None:
    events = two.listen()
    peer = await two.first.accept()
    await say(events, peer, 1)
    error = {"code": "engine_failed", "description": "it failed", "retryable": retryable}
    await peer.send({"type": "Error", **error})
    await replayed(await two.second.accept(), 1)


async def speak_turn(events: Events, peer: Peer, number: int) -> None:
    await say(events, peer, number)
    await peer.send(SPEECH_STARTED)
    events._stream.flush()
    await expect_finalize(peer)
    await peer.send(final(str(number)))
    await events.wait_for(Kind.END_OF_SPEECH, times=number)


async def test_the_stream_goes_back_after_a_turn(two: Two, health: Health) -> None:
    two.first.refusals.append(503)
    events = two.listen()
    other = await two.second.accept()
    await other.send(SPEECH_STARTED)
    await events.wait_for(Kind.START_OF_SPEECH)
    await health.recover(two.provider)
    # The first is back, but the caller is speaking: nothing moves.
    await speak_turn(events, other, 1)
    await speak_turn(events, await two.first.accept(), 2)
    finals = [text for kind, text in events.spoken if kind is Kind.FINAL_TRANSCRIPT]
    assert finals == ["1", "2"]
    assert (two.first.connects, two.second.connects) == (2, 1)


async def test_one_that_comes_back_between_turns_is_taken_at_once(two: Two, health: Health) -> None:
    two.first.refusals.append(503)
    events = two.listen()
    await speak_turn(events, await two.second.accept(), 1)
    assert two.first.connects == 1
    await health.recover(two.provider)
    await speak_turn(events, await two.first.accept(), 2)


async def test_a_recording_goes_to_the_second(two: Two) -> None:
    two.first.transcription = (503, "{}")
    two.second.transcription = (200, '{"text": "from the second"}')
    event = await two.stt.recognize(frame(1), conn_options=ONCE)
    assert event.alternatives[0].text == "from the second"


async def test_when_both_are_gone_it_is_told(http: aiohttp.ClientSession) -> None:
    async with FakeSpeechServer.running() as first, FakeSpeechServer.running() as second:
        urls = {"url": first.url, "fallback_url": second.url}
    stt = FallbackSTT(**urls, http_session=http)
    events = Events(stt.stream(conn_options=ONCE))
    with pytest.raises(APIConnectionError):
        await events.finish()
    await stt.aclose()
