"""A lost connection of the STT plugin: nothing said is lost, and nothing is heard twice."""

import pytest
from livekit.agents import APIConnectionError
from livekit.agents.stt import STTError

from speech_plugins import STT, recognize_stream
from tests.unit.speech_plugins.attempts import FAST
from tests.unit.speech_plugins.fake_speech_server import (
    METADATA,
    SPEECH_STARTED,
    FakeSpeechServer,
    final,
    results,
)
from tests.unit.speech_plugins.listening import (
    Events,
    Kind,
    Listening,
    expect_finalize,
    frame,
    values,
)


async def test_audio_since_the_last_final_is_sent_again_after_a_loss(
    stt: STT, listening: Listening, server: FakeSpeechServer
) -> None:
    errors: list[STTError] = []
    stt.on("error", errors.append)
    stream, events, peer = listening
    stream.push_frame(frame(1))
    stream.flush()
    await peer.receive_audio(640)
    await expect_finalize(peer)
    await peer.send(final("One."))
    await events.wait_for(Kind.FINAL_TRANSCRIPT)

    stream.push_frame(frame(2))
    stream.push_frame(frame(3))
    await peer.receive_audio(1280)
    peer.drop()
    stream.push_frame(frame(4))

    again = await server.accept()
    assert values(await again.receive_audio(3 * 640)) == [2, 3, 4]
    stream.flush()
    await expect_finalize(again)
    await again.send(final("Two."))
    await events.wait_for(Kind.FINAL_TRANSCRIPT, times=2)
    assert [error.recoverable for error in errors] == [True]
    assert isinstance(errors[0].error, APIConnectionError)


async def test_an_unanswered_flush_is_sent_again_and_answered_once(
    listening: Listening, server: FakeSpeechServer
) -> None:
    stream, events, peer = listening
    await peer.send(SPEECH_STARTED)
    await events.wait_for(Kind.START_OF_SPEECH)
    stream.push_frame(frame(5))
    stream.flush()
    await peer.receive_audio(640)
    await expect_finalize(peer)
    await peer.ws.close(code=1012)

    again = await server.accept()
    assert values(await again.receive_audio(640)) == [5]
    await expect_finalize(again)
    await again.send(SPEECH_STARTED)
    await again.send(final("Five."))
    await events.wait_for(Kind.END_OF_SPEECH)
    assert events.spoken == [
        (Kind.START_OF_SPEECH, ""),
        (Kind.FINAL_TRANSCRIPT, "Five."),
        (Kind.END_OF_SPEECH, ""),
    ]


async def test_what_was_finalised_unasked_is_not_sent_again(
    listening: Listening, server: FakeSpeechServer
) -> None:
    stream, events, peer = listening
    for value in (1, 2, 3):
        stream.push_frame(frame(value))
    await peer.receive_audio(3 * 640)
    await peer.send(results("Long", is_final=True, duration=0.04))
    await peer.send(results("speech"))
    await events.wait_for(Kind.INTERIM_TRANSCRIPT)
    peer.drop()
    again = await server.accept()
    assert values(await again.receive_audio(640)) == [3]
    stream.flush()
    await expect_finalize(again)
    await again.send(final("speech."))
    event = await events.wait_for(Kind.FINAL_TRANSCRIPT)
    assert event.alternatives[0].text == "Long speech."


async def test_silence_is_not_kept_for_ever(
    stt: STT, server: FakeSpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognize_stream, "_KEPT_SILENCE_S", 0.04)
    stream = stt.stream(conn_options=FAST)
    peer = await server.accept()
    for value in range(1, 10):
        stream.push_frame(frame(value))
    await peer.receive_audio(9 * 640)
    peer.drop()
    again = await server.accept()
    assert values(await again.receive_audio(2 * 640)) == [8, 9]
    await stream.aclose()


async def test_times_go_on_after_a_reconnect(stt: STT, server: FakeSpeechServer) -> None:
    stream = stt.stream(conn_options=FAST)
    stream.start_time_offset = 100.0
    events = Events(stream)
    peer = await server.accept()
    for _ in range(50):
        stream.push_frame(frame(1))
    stream.flush()
    await peer.receive_audio(32_000)
    await expect_finalize(peer)
    await peer.send(final("One.", duration=1.0))
    first = await events.wait_for(Kind.FINAL_TRANSCRIPT)
    assert first.alternatives[0].start_time == pytest.approx(100.0, abs=0.1)
    assert first.alternatives[0].end_time == pytest.approx(101.0, abs=0.1)
    peer.drop()
    again = await server.accept()
    stream.flush()
    await expect_finalize(again)
    await again.send(final("Two.", start=0.5, duration=0.5, words=[("Two.", 0.6, 0.9)]))
    second = (await events.wait_for(Kind.FINAL_TRANSCRIPT, times=2)).alternatives[0]
    assert second.start_time == pytest.approx(101.6, abs=0.1)
    assert second.words is not None
    assert str(second.words[0]) == "Two."
    assert second.words[0].end_time == pytest.approx(101.9, abs=0.1)
    await stream.aclose()


async def test_full_then_served(stt: STT, server: FakeSpeechServer) -> None:
    server.refusals = [429]
    stream = stt.stream(conn_options=FAST)
    stream.push_frame(frame(6))
    peer = await server.accept()
    assert values(await peer.receive_audio(640)) == [6]
    assert server.connects == 2
    await stream.aclose()


async def test_usage_counts_audio_once(
    stt: STT, server: FakeSpeechServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recognize_stream, "_USAGE_INTERVAL_S", 0.1)
    stream = stt.stream(conn_options=FAST)
    events = Events(stream)
    peer = await server.accept()
    for _ in range(6):
        stream.push_frame(frame(1))
    await events.wait_for(Kind.RECOGNITION_USAGE)
    await peer.receive_audio(6 * 640)
    peer.drop()
    again = await server.accept()
    await again.receive_audio(6 * 640)
    stream.end_input()
    await expect_finalize(again)
    await again.send(final(""))
    await again.receive()
    await again.send(METADATA)
    await events.finish()
    usage = [e.recognition_usage.audio_duration for e in events.all if e.recognition_usage]
    assert sum(usage) == pytest.approx(0.12)
