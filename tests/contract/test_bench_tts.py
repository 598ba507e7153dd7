"""The whole benchmark with the built-in voice, and its wires against a real server."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from typer.testing import CliRunner

from bench.tts.playout import play
from bench.tts.served import NotSpoken, english_voices, leading_silences, speak_alone
from bench.tts.wires import SpeakWire, SpeechWire, Wire
from tests.speech_server_process import SpeechServer, speech_server_process
from voice_agent.cli import app

TEXT = "Of course. Your appointment is on Tuesday."
FAST = 10_000.0


def test_quick_measures_all_that_the_summary_promises(tmp_path: Path) -> None:
    file = tmp_path / "result.json"
    # A bound that a busy machine keeps as well: what is checked here is not its speed.
    arguments = ["--quick", "--rates", "1,2", "--bound", "10", "--json", str(file)]
    answer = CliRunner().invoke(app, ["bench", "tts", *arguments])
    assert answer.exit_code == 0, answer.output
    report: dict[str, Any] = json.loads(file.read_text())
    summary = report["summary"]
    assert summary["max_stream_error"] <= 1e-4
    assert summary["frames_lost"] == 0
    assert summary["reference_frames_lost"] > 0
    assert summary["decode_work_ratio_vs_reference"] <= 0.5
    assert summary["tokens_before_first_audio"] <= 14
    assert summary["tokens_after_cancel"] <= 7
    assert summary["tokens_counted_with"] == "scripted"
    assert summary["reference_tokens_before_first_audio"] == 28
    assert summary["leading_silence_p95_s"] <= 0.04
    assert summary["leading_silence_tiny_voice_p95_s"] <= 0.04
    assert summary["realtime_streams_per_core"] > 0
    assert 0 < summary["audible_alone_text_p50_s"] <= summary["audible_alone_text_p95_s"]
    rounds = [row for row in report["rounds"] if row["system"] == "parley"]
    assert rounds
    for row in rounds:
        assert row["replies"]
        assert not row["refused"]
        assert not row["failed"]
        assert row["first_byte_s"]["p50"] <= row["audible_s"]["p50"] <= row["audible_s"]["p99"]
        assert row["audio_s_per_s"] > 0
        assert row["engine_rtf"] > 0
        assert row["load"]["cpu_cores"] > 0


@pytest.fixture(scope="module")
def server() -> Iterator[SpeechServer]:
    with speech_server_process(("tts",), tts_capacity_streams="2") as running:
        yield running


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as opened:
        yield opened


@pytest.fixture(params=["tokens", "text"])
def wire(
    request: pytest.FixtureRequest, server: SpeechServer, session: aiohttp.ClientSession
) -> Wire:
    if request.param == "tokens":
        return SpeakWire(session, server.url, FAST)
    return SpeechWire(session, server.url)


async def test_a_reply_is_taken_whole(wire: Wire) -> None:
    spoken = await wire.speak(TEXT)
    assert not spoken.failure
    heard = play(spoken.pieces, spoken.asked_at_s)
    assert 1.5 < heard.audio_s < 6
    assert 0 < heard.first_byte_s <= heard.audible_s < float("inf")


async def test_a_refusal_is_told_and_the_next_reply_is_spoken(wire: Wire) -> None:
    replies = await asyncio.gather(*(wire.speak(TEXT) for _ in range(5)))
    refused = [spoken for spoken in replies if spoken.refused]
    assert 1 <= len(refused) <= 3
    assert all(spoken.failure for spoken in refused)
    assert not (await wire.speak(TEXT)).failure


async def test_a_text_without_words_is_told(wire: Wire) -> None:
    spoken = await wire.speak("?!")
    assert spoken.failure
    assert not spoken.refused
    with pytest.raises(NotSpoken, match="not spoken"):
        await speak_alone(wire, ["?!"])


async def test_connections_are_kept(server: SpeechServer, session: aiohttp.ClientSession) -> None:
    wire = SpeakWire(session, server.url, FAST)
    await wire.connect(2)
    await wire.connect(2)
    for _ in range(3):
        assert not (await wire.speak("Yes.")).failure
    assert len(wire.idle) == 2


async def test_a_server_that_is_not_there_is_told(session: aiohttp.ClientSession) -> None:
    for wire in (
        SpeakWire(session, "http://127.0.0.1:1", FAST),
        SpeechWire(session, "http://127.0.0.1:1"),
    ):
        assert (await wire.speak(TEXT)).failure


async def test_every_english_voice_begins_at_once(
    server: SpeechServer, session: aiohttp.ClientSession
) -> None:
    voices = await english_voices(session, server.url)
    assert voices
    found = await leading_silences(session, server.url, [TEXT])
    assert list(found) == voices
    assert max(lead_s for leads_s in found.values() for lead_s in leads_s) <= 0.1
