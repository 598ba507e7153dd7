"""A reply that breaks off goes on where it broke, and nothing is spoken twice."""

import pytest
from livekit.agents import APIError
from livekit.agents import tts as lk_tts

from speech_plugins import TTS
from tests.unit.speech_plugins.attempts import FAST
from tests.unit.speech_plugins.fake_speech_server import (
    FakeSpeechServer,
    chunk,
    done,
    flush_done,
    timestamps,
)
from tests.unit.speech_plugins.speaking import Listener, say


async def test_resumed_at_the_word_that_was_cut(tts: TTS, server: FakeSpeechServer) -> None:
    errors: list[lk_tts.TTSError] = []
    tts.on("error", errors.append)
    listener = say(tts, "Your visit is on Tuesday at noon. Bye.")
    peer, context, _ = await server.accept_reply()
    await peer.send(
        timestamps(
            context, ("Your", 0.0, 0.2), ("visit", 0.2, 0.5), ("is", 0.5, 0.6), ("on", 0.6, 0.8)
        )
    )
    await peer.send(chunk(context, 0.55, value=1))
    await listener.heard()
    peer.drop()

    again, context, text = await server.accept_reply()
    assert text == " is on Tuesday at noon. Bye."
    await again.send(timestamps(context, ("is", 0.1, 0.3)))
    await again.send(chunk(context, 1.0, value=2))
    await again.send(done(context))
    await listener.finish()
    assert listener.starts[-2] == pytest.approx(0.55 + 0.1, abs=0.001)
    assert listener.samples.count(1) == round(0.55 * 24_000)
    assert listener.samples.count(2) == 24_000
    assert [error.recoverable for error in errors] == [True]


async def test_resumed_at_the_next_sentence_without_word_times(
    tts: TTS, server: FakeSpeechServer
) -> None:
    listener = say(tts, "It is booked. It is at noon on Tuesday. Goodbye now.")
    peer, context, _ = await server.accept_reply()
    await peer.send(chunk(context, 0.5))
    await peer.send(flush_done(context))
    await peer.send(chunk(context, 0.3, value=9))
    while 9 not in listener.samples:
        listener._heard.clear()
        await listener.heard()
    peer.drop()

    again, context, text = await server.accept_reply()
    assert text == "Goodbye now."
    await again.speak(context, 0.4)
    await listener.finish()
    assert listener.audio_s == pytest.approx(1.2, abs=0.02)


async def test_a_sentence_not_begun_is_sent_again_whole(tts: TTS, server: FakeSpeechServer) -> None:
    listener = say(tts, "It is booked. Goodbye now.")
    peer, context, _ = await server.accept_reply()
    await peer.send(chunk(context, 0.5))
    await peer.send(flush_done(context))
    await listener.heard()
    await peer.ws.close(code=1012, message=b"restart")
    again, context, text = await server.accept_reply()
    assert text == "Goodbye now."
    await again.speak(context, 0.1)
    await listener.finish()


async def test_lost_before_any_audio_the_framework_begins_again(
    tts: TTS, server: FakeSpeechServer
) -> None:
    listener = say(tts, "It is booked. Goodbye.")
    peer = await server.accept()
    await peer.receive_text()
    peer.drop()
    again, context, text = await server.accept_reply()
    assert text == "It is booked. Goodbye."
    await again.speak(context, 0.2)
    await listener.finish()
    assert listener.audio_s == pytest.approx(0.2, abs=0.011)


async def test_a_reply_that_breaks_for_ever_ends_in_one_clear_error(
    tts: TTS, server: FakeSpeechServer
) -> None:
    errors: list[lk_tts.TTSError] = []
    tts.on("error", errors.append)
    listener = say(tts, "One is here. Two is here. Three is here. Four is here. Five is here.")
    for _ in range(FAST.max_retry + 1):
        peer = await server.accept()
        context, _ = await peer.receive_text()
        await peer.send(chunk(context, 0.1))
        await peer.send("{}")
        await peer.wait_gone()
    with pytest.raises(APIError, match="malformed"):
        await listener.finish()
    assert [error.recoverable for error in errors] == [True, True, False]
    assert server.connects == 3


async def test_a_text_spoken_as_a_whole_is_not_begun_again_either(
    tts: TTS, server: FakeSpeechServer
) -> None:
    listener = Listener(tts.synthesize("One is here. Two is here. Three. Four.", conn_options=FAST))
    texts = []
    for _ in range(FAST.max_retry + 1):
        peer = await server.accept()
        context, text = await peer.receive_text()
        texts.append(text)
        await peer.send(chunk(context, 0.1))
        await peer.send("{}")
        await peer.wait_gone()
    with pytest.raises(APIError, match="malformed"):
        await listener.finish()
    assert texts == ["One is here. Two is here. Three. Four.", "Two is here. Three. Four.",
                     "Three. Four."]  # fmt: skip
    assert server.connects == 3
