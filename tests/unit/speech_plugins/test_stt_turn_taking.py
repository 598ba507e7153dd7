"""A stream that a turn taker commands: what it is told, and what its commands do."""

from collections.abc import AsyncIterator

import aiohttp
import pytest

from speech_plugins import STT
from speech_plugins.turn_taking import Pcm16, TurnLine
from tests.unit.speech_plugins.fake_speech_server import (
    SPEECH_STARTED,
    FakeSpeechServer,
    Peer,
    final,
    results,
)
from tests.unit.speech_plugins.listening import Kind, Listening, expect_finalize, frame


class Taker:
    """Keeps what it is told."""

    def __init__(self, line: TurnLine) -> None:
        self.line = line
        self.samples = 0
        self.texts: list[tuple[str, int]] = []
        self.closed = 0

    def hear(self, pcm: Pcm16) -> None:
        self.samples += len(pcm)

    def read(self, text: str, end: int) -> None:
        self.texts.append((text, end))

    def close(self) -> None:
        self.closed += 1


@pytest.fixture
def takers() -> list[Taker]:
    return []


@pytest.fixture
async def stt(
    server: FakeSpeechServer, http: aiohttp.ClientSession, takers: list[Taker]
) -> AsyncIterator[STT]:
    def taker(line: TurnLine) -> Taker:
        takers.append(Taker(line))
        return takers[-1]

    plugin = STT(url=server.url, http_session=http, turn_taker=taker)
    yield plugin
    await plugin.aclose()


async def preflight(listening: Listening, text: str, seconds: float = 0.5) -> None:
    before = [event for event in listening.events.all if event.type is Kind.PREFLIGHT_TRANSCRIPT]
    await listening.peer.send(results(text, preflight=True, duration=seconds))
    await listening.events.wait_for(Kind.PREFLIGHT_TRANSCRIPT, len(before) + 1)


async def answer(peer: Peer, text: str) -> None:
    await expect_finalize(peer)
    await peer.send(final(text))


async def test_a_taker_hears_and_reads_what_the_server_does(
    listening: Listening, takers: list[Taker]
) -> None:
    (taker,) = takers
    for _ in range(25):
        listening.stream.push_frame(frame(1))
    await listening.peer.receive_audio(16_000)
    await preflight(listening, "What are")
    assert taker.samples == 8_000
    assert taker.texts == [("What are", 8_000)]


async def test_the_end_of_a_turn_comes_with_its_time(
    listening: Listening, takers: list[Taker]
) -> None:
    for _ in range(25):
        listening.stream.push_frame(frame(1))
    await listening.peer.receive_audio(16_000)
    await listening.peer.send(SPEECH_STARTED)
    takers[0].line.end_turn(4_000)
    await answer(listening.peer, "What are your hours?")
    end = await listening.events.wait_for(Kind.END_OF_SPEECH)
    assert listening.events.spoken[-2:] == [
        (Kind.FINAL_TRANSCRIPT, "What are your hours?"),
        (Kind.END_OF_SPEECH, ""),
    ]
    assert end.speech_end_time is not None
    assert end.created_at - end.speech_end_time >= 0.25


async def test_words_set_aside_are_nobodys_turn(listening: Listening, takers: list[Taker]) -> None:
    await listening.peer.send(SPEECH_STARTED)
    takers[0].line.set_aside()
    await answer(listening.peer, "Mhm.")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    assert listening.events.spoken == [(Kind.START_OF_SPEECH, ""), (Kind.END_OF_SPEECH, "")]


async def test_a_sound_that_the_server_took_for_none_ends_as_well(
    listening: Listening, takers: list[Taker]
) -> None:
    takers[0].line.set_aside()
    await answer(listening.peer, "")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    assert listening.events.spoken == [(Kind.START_OF_SPEECH, ""), (Kind.END_OF_SPEECH, "")]


async def test_words_set_aside_may_be_a_turn_after_all(
    listening: Listening, takers: list[Taker]
) -> None:
    line = takers[0].line
    line.take_up()  # there are none yet
    line.set_aside()
    await answer(listening.peer, "Yes.")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    line.take_up()
    line.take_up()
    await listening.events.wait_for(Kind.END_OF_SPEECH, 2)
    assert listening.events.spoken[2:] == [
        (Kind.START_OF_SPEECH, ""),
        (Kind.FINAL_TRANSCRIPT, "Yes."),
        (Kind.END_OF_SPEECH, ""),
    ]


async def test_a_reopened_turn_is_one_turn(listening: Listening, takers: list[Taker]) -> None:
    line = takers[0].line
    line.end_turn(0)
    await answer(listening.peer, "I would like to book a table.")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    line.reopen()
    await preflight(listening, "For six people.")
    assert takers[0].texts[-1][0] == "I would like to book a table. For six people."
    line.end_turn(0)
    await answer(listening.peer, "For six people.")
    event = await listening.events.wait_for(Kind.FINAL_TRANSCRIPT, 2)
    assert event.alternatives[0].text == "I would like to book a table. For six people."


async def test_a_turn_reopened_by_a_noise_is_said_again(
    listening: Listening, takers: list[Taker]
) -> None:
    line = takers[0].line
    line.end_turn(0)
    await answer(listening.peer, "When do you open?")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    line.reopen()
    line.end_turn(0)
    await answer(listening.peer, "")
    event = await listening.events.wait_for(Kind.FINAL_TRANSCRIPT, 2)
    assert event.alternatives[0].text == "When do you open?"


async def test_words_set_aside_may_be_the_beginning_of_a_turn(
    listening: Listening, takers: list[Taker]
) -> None:
    line = takers[0].line
    line.set_aside()
    await answer(listening.peer, "Okay.")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    line.reopen()
    line.end_turn(0)
    await answer(listening.peer, "But what does it cost?")
    event = await listening.events.wait_for(Kind.FINAL_TRANSCRIPT)
    assert event.alternatives[0].text == "Okay. But what does it cost?"


async def test_a_turn_before_what_was_set_aside_stays_closed(
    listening: Listening, takers: list[Taker]
) -> None:
    line = takers[0].line
    line.end_turn(0)
    await answer(listening.peer, "When do you open?")
    line.set_aside()
    await answer(listening.peer, "")
    await listening.events.wait_for(Kind.END_OF_SPEECH, 2)
    line.reopen()
    line.end_turn(0)
    await answer(listening.peer, "And on Sunday?")
    event = await listening.events.wait_for(Kind.FINAL_TRANSCRIPT, 2)
    assert event.alternatives[0].text == "And on Sunday?"


async def test_commands_survive_a_lost_connection(
    listening: Listening, takers: list[Taker], server: FakeSpeechServer
) -> None:
    listening.stream.push_frame(frame(1))
    takers[0].line.set_aside()
    await listening.peer.receive_audio(640)
    await expect_finalize(listening.peer)
    listening.peer.drop()
    peer = await server.accept()
    await peer.receive_audio(640)
    await answer(peer, "Mhm.")
    await listening.events.wait_for(Kind.END_OF_SPEECH)
    assert (Kind.FINAL_TRANSCRIPT, "Mhm.") not in listening.events.spoken
    assert takers[0].samples == 320  # sent twice, heard once


async def test_a_taker_is_dismissed_once(listening: Listening, takers: list[Taker]) -> None:
    listening.stream.end_input()
    await listening.stream.aclose()
    assert takers[0].closed == 1
