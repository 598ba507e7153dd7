"""Word times through the TTS plugin."""

import aiohttp

from speech_plugins import TTS
from tests.unit.speech_plugins.fake_speech_server import FakeSpeechServer, chunk, timestamps
from tests.unit.speech_plugins.speaking import say


async def test_word_times_become_a_transcript_with_our_spelling(
    server: FakeSpeechServer, http: aiohttp.ClientSession
) -> None:
    tts = TTS(url=server.url, word_times=True, http_session=http)
    assert tts.capabilities.aligned_transcript
    listener = say(tts, "Hi, it is 3:30 now.")
    peer, context, _ = await server.accept_reply()
    await peer.send(timestamps(context, ("hi", 0.0, 0.1), ("it", 0.1, 0.2), ("is", 0.2, 0.3)))
    await peer.send(timestamps(context, ("three", 0.3, 0.4), ("thirty", 0.4, 0.5)))
    await peer.send(chunk(context, 0.5))
    await peer.send(timestamps(context, ("now.", 0.5, 0.6)))
    await peer.speak(context, 0.1)
    await listener.finish()
    assert "".join(listener.words) == "Hi, it is 3:30 now."
    await tts.aclose()


async def test_word_times_are_learnt_when_they_come(tts: TTS, server: FakeSpeechServer) -> None:
    assert not tts.capabilities.aligned_transcript
    listener = say(tts, "Hello.")
    peer, context, _ = await server.accept_reply()
    await peer.send(timestamps(context, ("Hello.", 0.0, 0.1)))
    await peer.speak(context, 0.1)
    await listener.finish()
    assert tts.capabilities.aligned_transcript
    assert tts.capabilities.streaming
