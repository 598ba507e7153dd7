"""Replies through the TTS plugin: how text leaves it, and how audio comes back."""

import asyncio
from typing import Any

import pytest
from livekit.agents import APIConnectOptions

from speech_plugins import TTS
from tests.unit.speech_plugins.attempts import FAST
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer, Peer, chunk, done
from tests.unit.speech_plugins.speaking import Listener, say


def flushes(message: dict[str, Any]) -> bool:
    return bool(message.get("flush", False))


async def test_each_token_is_sent_as_it_comes(tts: TTS, server: FakeSpeechServer) -> None:
    stream = tts.stream(conn_options=FAST)
    listener = Listener(stream)
    stream.push_text("Good")
    peer = await server.accept()
    first = await peer.receive()
    assert first["transcript"] == "Good"
    assert first["continue"] is True
    assert first["voice"] == {"mode": "id", "id": "slt"}
    assert first["output_format"] == {
        "container": "raw",
        "encoding": "pcm_s16le",
        "sample_rate": 24_000,
    }
    stream.push_text(" morning.")
    second = await peer.receive()
    assert second["transcript"] == " morning."
    assert second["context_id"] == first["context_id"]

    stream.end_input()
    context, rest = await peer.receive_text()
    assert rest == ""
    await peer.speak(context, 0.5)
    await listener.finish()
    assert listener.audio_s == pytest.approx(0.5, abs=0.011)


async def test_a_sentence_is_spoken_before_the_next_is_complete(
    tts: TTS, server: FakeSpeechServer
) -> None:
    stream = tts.stream(conn_options=FAST)
    listener = Listener(stream)
    for token in ("All", " booked.", " See"):
        stream.push_text(token)
    peer = await server.accept()
    messages = [await peer.receive()]
    while messages[-1]["transcript"] != "See":
        messages.append(await peer.receive())
    assert "".join(message["transcript"] for message in messages) == "All booked. See"
    upto_mark = [m["transcript"] for m in messages[: [*map(flushes, messages)].index(True) + 1]]
    assert "".join(upto_mark) == "All booked. "
    assert sum(map(flushes, messages)) == 1
    context = messages[0]["context_id"]
    await peer.send(chunk(context, 0.3))
    await listener.heard()
    await listener.stream.aclose()


async def test_one_connection_serves_every_reply(tts: TTS, server: FakeSpeechServer) -> None:
    contexts = []
    peer: Peer | None = None
    metrics: list[object] = []
    tts.on("metrics_collected", metrics.append)
    for _ in range(3):
        listener = say(tts, "Hello there.")
        peer = peer or await server.accept()
        context, text = await peer.receive_text()
        assert text == "Hello there."
        contexts.append(context)
        await peer.speak(context, 0.1)
        await listener.finish()
    assert server.connects == 1
    assert len(set(contexts)) == 3
    assert [m.connection_reused for m in metrics] == [False, True, True]  # type: ignore[attr-defined]


async def test_replies_at_once_keep_their_own_audio(tts: TTS, server: FakeSpeechServer) -> None:
    first, second = say(tts, "One."), say(tts, "Two.")
    peer = await server.accept()
    by_text = dict(
        (text, context) for context, text in [await peer.receive_text(), await peer.receive_text()]
    )
    for _ in range(3):
        await peer.send(chunk(by_text["One."], 0.1, value=100))
        await peer.send(chunk(by_text["Two."], 0.2, value=200))
    for context in by_text.values():
        await peer.send(done(context))
    await first.finish()
    await second.finish()
    assert server.connects == 1
    assert set(first.samples) == {100}
    assert set(second.samples) == {200}


async def test_an_interrupted_reply_is_cancelled_on_the_server(
    tts: TTS, server: FakeSpeechServer
) -> None:
    listener = say(tts, "This is a long story.")
    peer, context, _ = await server.accept_reply()
    await peer.send(chunk(context, 0.5))
    await listener.heard()
    await listener.stream.aclose()
    assert await peer.receive() == {"context_id": context, "cancel": True}

    # The connection goes on, and the tail of the old reply does not leak into the next one.
    following = say(tts, "Yes?")
    next_context, _ = await peer.receive_text()
    await peer.send(chunk(context, 0.5, value=-5))
    await peer.send(done(context))
    await peer.send(chunk(next_context, 0.1, value=7))
    await peer.send(done(next_context))
    await following.finish()
    assert set(following.samples) == {7}
    assert server.connects == 1


async def test_a_finished_reply_is_not_cancelled(tts: TTS, server: FakeSpeechServer) -> None:
    listener = say(tts, "Done.")
    peer, context, _ = await server.accept_reply()
    await peer.speak(context, 0.1)
    await listener.finish()
    following = say(tts, "Next.")
    assert "transcript" in await peer.receive()
    await following.stream.aclose()


async def test_a_slow_language_model_is_no_stall(tts: TTS, server: FakeSpeechServer) -> None:
    stream = tts.stream(conn_options=APIConnectOptions(max_retry=0, timeout=0.05))
    listener = Listener(stream)
    stream.push_text("Let me")
    peer = await server.accept()
    context = (await peer.receive())["context_id"]
    done_waiting, _ = await asyncio.wait({listener.task}, timeout=0.2)
    assert not done_waiting
    stream.push_text(" see.")
    stream.end_input()
    await peer.receive_text()
    await peer.speak(context, 0.1)
    await listener.finish()


@pytest.mark.parametrize("text", ["...", "!?"])
async def test_text_without_a_word_is_no_failure(
    tts: TTS, server: FakeSpeechServer, text: str
) -> None:
    listener = say(tts, text)
    peer, context, _ = await server.accept_reply()
    await peer.send(done(context))
    await listener.finish()
    assert set(listener.samples) == {0}


async def test_white_space_is_not_sent(tts: TTS, server: FakeSpeechServer) -> None:
    await say(tts, " \n ").finish()
    assert server.connects == 0


async def test_a_long_text_goes_on_in_further_contexts(tts: TTS, server: FakeSpeechServer) -> None:
    whole = "This is one sentence of many. " * 400
    listener = Listener(tts.synthesize(whole, conn_options=FAST))
    peer = await server.accept()
    contexts: dict[str, str] = {}
    while sum(map(len, contexts.values())) < len(whole.rstrip()):
        context, text = await peer.receive_text()
        contexts[context] = text
        await peer.speak(context, 0.1)
    await listener.finish()
    assert "".join(contexts.values()).rstrip() == whole.rstrip()
    assert max(map(len, contexts.values())) <= 3000
    assert listener.audio_s == pytest.approx(0.1 * len(contexts), abs=0.02)


async def test_another_voice_from_the_next_reply_on(tts: TTS, server: FakeSpeechServer) -> None:
    tts.update_options(voice="rms", speed=1.2)
    listener = say(tts, "Hello.")
    peer = await server.accept()
    message = await peer.receive()
    assert message["voice"]["id"] == "rms"
    assert message["generation_config"] == {"speed": 1.2}
    await listener.stream.aclose()


@pytest.mark.parametrize("url", ["127.0.0.1:8090", "ftp://host", "http://"])
def test_a_url_that_is_none(url: str) -> None:
    with pytest.raises(ValueError, match="http"):
        TTS(url=url)
