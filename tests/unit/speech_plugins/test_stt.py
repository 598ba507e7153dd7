"""Turns of a caller: what the STT plugin sends, and the events it makes of the answers."""

import pytest

from speech_plugins import STT, recognize_stream
from tests.unit.speech_plugins.attempts import FAST, ONCE
from tests.unit.speech_plugins.fake_speech_server import (
    METADATA,
    SPEECH_STARTED,
    FakeSpeechServer,
    final,
    results,
)
from tests.unit.speech_plugins.listening import Kind, Listening, expect_finalize, frame


def test_capabilities() -> None:
    capabilities = STT(url="http://127.0.0.1:1").capabilities
    assert capabilities.streaming
    assert capabilities.interim_results
    assert capabilities.manual_flush
    assert capabilities.offline_recognize
    assert capabilities.aligned_transcript is False
    assert STT(url="http://h", word_times=True).capabilities.aligned_transcript == "word"


async def test_asks_for_what_it_needs_and_sends_16_khz(stt: STT, server: FakeSpeechServer) -> None:
    stream = stt.stream(language="en-US", conn_options=FAST)
    peer = await server.accept()
    assert dict(peer.request.query) == {
        "encoding": "linear16",
        "sample_rate": "16000",
        "channels": "1",
        "interim_results": "true",
        "preflight": "true",
        "endpointing": "false",
        "vad_events": "true",
        "language": "en-US",
    }
    for _ in range(50):
        stream.push_frame(frame(100, samples=480, rate_hz=24_000))
    stream.flush()
    received = 0
    while isinstance(message := await peer.receive(), bytes):
        received += len(message)
    assert message == {"type": "Finalize"}
    a_millisecond = 2 * 16
    assert 2 * 16_000 - a_millisecond <= received <= 2 * 16_000
    await stream.aclose()


async def test_a_turn(listening: Listening) -> None:
    stream, events, peer = listening
    stream.push_frame(frame(1))
    await peer.send(SPEECH_STARTED)
    await peer.send(results("what are"))
    await peer.send(results("what are your hours?", preflight=True))
    await events.wait_for(Kind.PREFLIGHT_TRANSCRIPT)
    stream.flush()
    await peer.receive_audio(640)
    await expect_finalize(peer)
    await peer.send(final("What are your hours?"))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert events.spoken == [
        (Kind.START_OF_SPEECH, ""),
        (Kind.INTERIM_TRANSCRIPT, "what are"),
        (Kind.PREFLIGHT_TRANSCRIPT, "what are your hours?"),
        (Kind.FINAL_TRANSCRIPT, "What are your hours?"),
        (Kind.END_OF_SPEECH, ""),
    ]
    assert all(e.request_id == "request-1" for e in events.all[1:])


async def test_a_flush_with_nothing_said_is_answered_with_nothing(listening: Listening) -> None:
    stream, events, peer = listening
    stream.flush()
    await expect_finalize(peer)
    await peer.send(final(""))
    stream.end_input()
    await expect_finalize(peer)
    await peer.send(final(""))
    assert await peer.receive() == {"type": "CloseStream"}
    await peer.send(METADATA)
    await events.finish()
    assert events.spoken == []


async def test_a_noise_starts_and_ends_speech_without_a_transcript(listening: Listening) -> None:
    stream, events, peer = listening
    await peer.send(SPEECH_STARTED)
    await events.wait_for(Kind.START_OF_SPEECH)
    stream.flush()
    await expect_finalize(peer)
    await peer.send(final(""))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert events.spoken == [(Kind.START_OF_SPEECH, ""), (Kind.END_OF_SPEECH, "")]


async def test_what_the_server_finalises_unasked_waits_for_the_flush(listening: Listening) -> None:
    stream, events, peer = listening
    await peer.send(results("A very long", is_final=True))
    await peer.send(results("speech"))
    interim = await events.wait_for(Kind.INTERIM_TRANSCRIPT)
    assert interim.alternatives[0].text == "A very long speech"
    stream.flush()
    await expect_finalize(peer)
    await peer.send(final("speech."))
    assert (await events.wait_for(Kind.FINAL_TRANSCRIPT)).alternatives[0].text == (
        "A very long speech."
    )
    # The next turn begins empty.
    stream.flush()
    await expect_finalize(peer)
    await peer.send(final("Next."))
    second = await events.wait_for(Kind.FINAL_TRANSCRIPT, times=2)
    assert second.alternatives[0].text == "Next."


async def test_one_flush_gives_one_final(listening: Listening) -> None:
    stream, events, peer = listening
    stream.flush()
    await expect_finalize(peer)
    await peer.send(final("Yes."))
    await events.wait_for(Kind.FINAL_TRANSCRIPT)
    stream.end_input()
    await expect_finalize(peer)
    await peer.send(final(""))
    await peer.receive()
    await peer.send(METADATA)
    await events.finish()
    assert [text for kind, text in events.spoken if kind is Kind.FINAL_TRANSCRIPT] == ["Yes."]


async def test_an_answer_that_nobody_asked_for_is_no_final(listening: Listening) -> None:
    _, events, peer = listening
    await peer.send(final("Twice"))
    await peer.send(results("said"))
    await events.wait_for(Kind.INTERIM_TRANSCRIPT)
    assert Kind.FINAL_TRANSCRIPT not in [kind for kind, _ in events.spoken]


async def test_a_muted_caller_keeps_the_stream(
    stt: STT, server: FakeSpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognize_stream, "_KEEP_ALIVE_S", 0.02)
    stream = stt.stream(conn_options=ONCE)
    peer = await server.accept()
    assert await peer.receive() == {"type": "KeepAlive"}
    assert await peer.receive() == {"type": "KeepAlive"}
    await stream.aclose()


async def test_close_leaves_nothing_behind(stt: STT, server: FakeSpeechServer) -> None:
    stream = stt.stream(conn_options=FAST)
    peer = await server.accept()
    stream.push_frame(frame(1))
    await peer.receive_audio(640)
    await stt.aclose()
    await peer.wait_gone()
    assert stream._task.done()
