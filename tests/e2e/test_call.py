"""`parley call` against the whole stack: the recorded conversation, and what is refused."""

import asyncio
import json
import sqlite3
import subprocess
import wave
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from tests.stack import PARLEY, Stack

CONVERSATION = sorted((Path(__file__).parents[1] / "fixtures" / "conversation").glob("*.wav"))
CALL_TIMEOUT_S = 200

pytestmark = pytest.mark.timeout(320)  # the first test of a session starts the stack as well


@dataclass(frozen=True)
class Call:
    """One `parley call` that has ended."""

    status: int
    output: str
    report: dict[str, Any]
    recording: Path


async def call(stack: Stack, folder: Path, *arguments: str | Path) -> Call:
    """Run `parley call`; the report is empty when none was written."""
    report, recording = folder / "report.json", folder / "call.wav"
    process = await asyncio.create_subprocess_exec(
        PARLEY, "call", "--url", stack.web_url, "--json", report, "--record", recording,
        *arguments,
        env={**stack.environment, "COLUMNS": "160"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    try:
        output, _ = await asyncio.wait_for(process.communicate(), CALL_TIMEOUT_S)
    except BaseException:
        process.kill()
        await process.wait()
        raise
    body = json.loads(report.read_text()) if report.exists() else {}
    assert process.returncode is not None
    return Call(process.returncode, output.decode(), body, recording)


def agent_side(recording: Path, folder: Path) -> Path:
    """The agent's channel of a recording, as a WAV file of its own."""
    path = folder / "agent.wav"
    with wave.open(str(recording)) as stereo, wave.open(str(path), "wb") as mono:
        samples = np.frombuffer(stereo.readframes(stereo.getnframes()), "<i2").reshape(-1, 2)
        mono.setnchannels(1)
        mono.setsampwidth(2)
        mono.setframerate(stereo.getframerate())
        mono.writeframes(samples[:, 1].tobytes())
    return path


def transcribe(stack: Stack, recording: Path) -> str:
    """What the stack's own recogniser hears in a recording, in lower case."""
    with recording.open("rb") as file:
        response = httpx.post(
            f"{stack.speech_url}/v1/audio/transcriptions",
            files={"file": (recording.name, file, "audio/wav")},
            data={"model": "moonshine-tiny-en", "response_format": "json"},
            timeout=60,
        )
    assert response.status_code == 200, response.text
    return str(response.json()["text"]).lower()


def bookings(stack: Stack) -> list[tuple[str, str]]:
    """(name, time) of every appointment in the database."""
    with closing(sqlite3.connect(stack.database)) as database:
        return database.execute("SELECT name, time FROM appointments").fetchall()


async def test_the_recorded_conversation_books_an_appointment(stack: Stack, tmp_path: Path) -> None:
    result = await call(stack, tmp_path, *CONVERSATION)
    assert result.status == 0, result.output
    assert result.report["ok"] is True
    turns = result.report["turns"]
    assert [turn["said"] for turn in turns] == [
        path.with_suffix(".txt").read_text().strip() for path in CONVERSATION
    ]
    assert all(turn["voice_to_voice_s"] is not None for turn in turns)
    assert all(turn["reply"] for turn in turns)
    assert "automated" in result.report["greeting"]["reply"]
    heard = "\n".join(f"{turn['heard_by_agent']!r} -> {turn['reply']!r}" for turn in turns)
    assert ("Peter Miller", "15:30") in bookings(stack), heard
    heard = transcribe(stack, agent_side(result.recording, tmp_path))
    assert any(time in heard for time in ("half past three", "three thirty", "3:30", "330", "3.30"))
    for heading in ("Voice to voice", "median", "maximum"):
        assert heading in result.output


async def test_a_typed_turn_is_answered_aloud(stack: Stack, tmp_path: Path) -> None:
    result = await call(stack, tmp_path, "--text", "What are your opening hours?")
    assert result.status == 0, result.output
    (turn,) = result.report["turns"]
    assert turn["text_to_voice_s"] > 0
    assert turn["reply"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "there is no such file"),
        (b"", "is empty"),
        (b"RIFF....WAVE", "holds no samples"),
        (CONVERSATION[0].read_bytes()[:1000], "is cut off"),
    ],
)
async def test_a_bad_recording_is_refused_before_the_call(
    stack: Stack, tmp_path: Path, content: bytes | None, reason: str
) -> None:
    bad = tmp_path / "bad.wav"
    if content is not None:
        bad.write_bytes(content)
    result = await call(stack, tmp_path, CONVERSATION[0], bad)
    assert result.status == 2
    assert reason in result.output
    assert result.report["errors"][0]["code"] == "bad_input"
    assert not result.recording.exists()


async def test_another_agent_is_refused_with_the_servers_words(
    stack: Stack, tmp_path: Path
) -> None:
    result = await call(stack, tmp_path, "--agent", "somebody-else", CONVERSATION[0])
    assert result.status == 1
    assert result.report["errors"][0]["code"] == "token_refused"
    assert "agent" in result.report["errors"][0]["message"]


async def test_an_unknown_persona_is_refused(stack: Stack, tmp_path: Path) -> None:
    result = await call(stack, tmp_path, "--persona", "nobody", CONVERSATION[0])
    assert result.status == 1
    assert result.report["errors"][0]["code"] == "token_refused"
