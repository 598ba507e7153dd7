"""Three callers at once, each with its own conversation."""

import asyncio
import wave
from dataclasses import dataclass
from pathlib import Path

import pytest
from rapidfuzz import fuzz

from tests.e2e.test_call import agent_side, bookings, transcribe
from tests.spoken import speak
from tests.stack import Stack
from voice_agent.caller.conversation import Limits, hold_conversation
from voice_agent.caller.recording import Recording
from voice_agent.caller.report import CallReport
from voice_agent.caller.token_client import TokenRequest, fetch_ticket
from voice_agent.caller.wav import Utterance, load_utterance

pytestmark = pytest.mark.timeout(320)  # the first test of a session starts the stack as well


@dataclass(frozen=True)
class Caller:
    """Who calls and what for. No two share a word that the recogniser could mix up.

    The wording is one that the built-in recogniser reads rightly after Opus, also when the line
    stutters: of 56 such calls 56. It takes "book an appointment" for "but can't appoint" in one of
    ten and then loses the day beside it.
    """

    name: str
    day: str
    spoken_time: str
    time: str


CALLERS = (
    Caller("Alice Brown", "Wednesday", "nine thirty", "09:30"),
    Caller("David Green", "Monday", "four thirty", "16:30"),
    Caller("Susan White", "Friday", "one thirty", "13:30"),
)


def recorded(folder: Path, name: str, text: str) -> Utterance:
    """The words as a recording."""
    path = folder / f"{name}.wav"
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(speak(text, voice="rms").tobytes())
    return load_utterance(path)


async def call(stack: Stack, caller: Caller, recording: Recording) -> CallReport:
    """Book, then ask when it is."""
    folder = recording.path.parent
    lines = [
        recorded(
            folder,
            f"{caller.time}-book",
            f"Hello, my name is {caller.name}. "
            f"I would like an appointment on {caller.day} at {caller.spoken_time}.",
        ),
        recorded(folder, f"{caller.time}-when", "When is my appointment?"),
    ]
    ticket = await fetch_ticket(stack.web_url, TokenRequest())
    return await hold_conversation(ticket, lines, Limits(), recording=recording)


def spoken_in(reports: list[CallReport]) -> str:
    """What was heard and answered, a line each, for a failed test to show."""
    return "\n".join(
        f"{report.room} {turn.turn}: {turn.heard_by_agent!r} -> {turn.reply!r}"
        for report in reports
        for turn in report.turns
    )


async def test_three_callers_at_once_keep_their_own_conversation(
    stack: Stack, tmp_path: Path
) -> None:
    recordings = [Recording(tmp_path / f"{caller.name}.wav") for caller in CALLERS]
    reports = await asyncio.gather(
        *(call(stack, *both) for both in zip(CALLERS, recordings, strict=True))
    )

    assert [report.errors for report in reports] == [[], [], []]
    assert len({report.room for report in reports}) == 3
    booked = bookings(stack)
    printed = [" ".join(turn.reply for turn in report.turns) for report in reports]
    for caller, words in zip(CALLERS, printed, strict=True):
        assert (caller.name, caller.time) in booked, spoken_in(reports)
        assert caller.day in words
        assert not [other for other in CALLERS if other is not caller and other.day in words]
    for recording, words in zip(recordings, printed, strict=True):
        recording.save()
        aloud = transcribe(stack, agent_side(recording.path, tmp_path))
        # a busy machine drops sound, so single words may be lost: the whole tells whose it is
        assert max(printed, key=lambda text: fuzz.token_set_ratio(aloud, text.lower())) == words
