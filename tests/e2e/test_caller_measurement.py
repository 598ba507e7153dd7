"""The caller's figures against an agent whose own moments are known, over a real livekit-server."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.tone_agent import HOLD_S, TONE_S, Answer, ToneAgent
from tests.livekit_process import LiveKit, livekit_process
from voice_agent.caller.conversation import Limits, TypedLine, hold_conversation
from voice_agent.caller.errors import CallFailure
from voice_agent.caller.recording import Recording
from voice_agent.caller.report import CallReport
from voice_agent.caller.sound import AUDIBLE_SAMPLE, RATE_HZ
from voice_agent.caller.wav import Utterance

SPEECH = Utterance(
    name="speech.wav",
    text="a long tone",
    samples=np.concatenate(
        [
            (9000 * np.sin(2 * np.pi * 300 * np.arange(RATE_HZ) / RATE_HZ)).astype(np.int16),
            np.zeros(RATE_HZ // 5, np.int16),  # recordings end with silence; it is no speech
        ]
    ),
    last_audible=RATE_HZ - 1,
)
LIMITS = Limits(join_s=5, answer_s=3)


@pytest.fixture(scope="module")
def livekit() -> Iterator[LiveKit]:
    with livekit_process() as server:
        yield server


async def _call(
    livekit: LiveKit,
    *answers: Answer,
    greets: bool = True,
    tells_state: bool = True,
    turns: int | None = None,
    recording: Recording | None = None,
) -> tuple[CallReport, ToneAgent]:
    """A call in a room of its own with an agent that follows the script."""
    agent = ToneAgent(answers, greets=greets, tells_state=tells_state)
    room = f"room-{id(agent)}"
    lines = [SPEECH] * (len(answers) if turns is None else turns)
    async with AsyncExitStack() as stack:
        task = asyncio.create_task(agent.run(livekit.url, livekit.token(room, "agent", agent=True)))
        stack.push_async_callback(_end, task)
        report = await hold_conversation(livekit.ticket(room), lines, LIMITS, recording=recording)
    return report, agent


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    for result in await asyncio.gather(task, return_exceptions=True):
        if isinstance(result, Exception):
            raise result


async def test_latency_spans_the_agents_wait_and_the_way_there_and_back(livekit: LiveKit) -> None:
    report, _ = await _call(livekit, Answer.TONE, Answer.TONE)
    assert report.errors == []
    assert report.ok
    assert [turn.reply for turn in report.turns] == ["beep 1", "beep 2"]
    assert [turn.heard_by_agent for turn in report.turns] == ["sound 1", "sound 2"]
    for turn in report.turns:
        assert turn.voice_to_voice_s is not None
        # the agent waits HOLD_S after it hears the end; the way there and back comes on top
        assert turn.voice_to_voice_s > HOLD_S
        assert not turn.answered_early
        assert turn.stages is not None
        assert turn.stages.end_of_turn_delay_s == HOLD_S
    assert report.greeting is not None
    assert report.voice_to_voice_max_s == max(t.voice_to_voice_s or 0 for t in report.turns)


async def test_a_pause_while_a_tool_runs_does_not_end_the_answer(livekit: LiveKit) -> None:
    report, agent = await _call(livekit, Answer.TWO_TONES, Answer.TONE)
    assert report.ok
    assert report.turns[0].answer_duration_s is not None
    assert report.turns[0].answer_duration_s > 1.5 + TONE_S
    # had the second turn begun in the pause, the second tone would have been its early answer
    assert [turn.answered_early for turn in report.turns] == [False, False]
    assert len(agent.tones_sent_s) == 4


async def test_an_agent_that_tells_no_state_is_given_longer_pauses(livekit: LiveKit) -> None:
    report, _ = await _call(livekit, Answer.TWO_TONES, tells_state=False)
    assert report.ok
    assert report.turns[0].answer_duration_s is not None
    assert report.turns[0].answer_duration_s > 1.5 + TONE_S


async def test_an_agent_that_speaks_into_our_turn_answered_early(livekit: LiveKit) -> None:
    report, _ = await _call(livekit, Answer.EARLY, Answer.TONE)
    assert report.ok
    early, normal = report.turns
    assert early.answered_early
    assert early.voice_to_voice_s is not None
    assert early.voice_to_voice_s < 0
    assert report.voice_to_voice_p50_s == normal.voice_to_voice_s


async def test_the_agent_may_hang_up_after_the_last_answer(livekit: LiveKit) -> None:
    report, _ = await _call(livekit, Answer.TONE, Answer.TONE_THEN_LEAVE)
    assert report.ok
    assert report.agent_hung_up


@pytest.mark.parametrize(
    ("answers", "turns", "code", "turn"),
    [
        ([Answer.TONE, Answer.SILENT], 2, CallFailure.NO_ANSWER, 2),
        ([Answer.LEAVE], 1, CallFailure.AGENT_LEFT, 1),
        ([Answer.TONE_THEN_LEAVE], 2, CallFailure.AGENT_LEFT, 2),
    ],
)
async def test_a_turn_without_an_answer_fails_the_call(
    livekit: LiveKit, answers: list[Answer], turns: int, code: CallFailure, turn: int
) -> None:
    report, _ = await _call(livekit, *answers, turns=turns)
    assert not report.ok
    assert [(error.code, error.turn) for error in report.errors] == [(code, turn)]
    assert report.turns[-1].voice_to_voice_s is None
    answered = report.turns[: turn - 1]
    assert all(turn.voice_to_voice_s is not None for turn in answered)


async def test_an_agent_that_never_speaks_first_gave_no_greeting(livekit: LiveKit) -> None:
    report, _ = await _call(livekit, Answer.TONE, greets=False)
    assert [error.code for error in report.errors] == [CallFailure.NO_GREETING]
    assert report.turns == []


async def test_a_room_without_an_agent_is_told(livekit: LiveKit) -> None:
    limits = Limits(join_s=1, answer_s=5)
    report = await hold_conversation(livekit.ticket("lonely"), [TypedLine("hello")], limits)
    assert [error.code for error in report.errors] == [CallFailure.NO_AGENT]
    assert "within 1 s" in report.errors[0].message


async def test_a_refused_token_is_told(livekit: LiveKit) -> None:
    ticket = livekit.ticket("room").model_copy(update={"participant_token": "not-a-token"})
    report = await hold_conversation(ticket, [SPEECH], LIMITS)
    assert [error.code for error in report.errors] == [CallFailure.CONNECT_FAILED]


async def test_the_recording_has_each_side_on_its_own_channel(
    livekit: LiveKit, tmp_path: Path
) -> None:
    recording = Recording(tmp_path / "call.wav")
    report, _ = await _call(livekit, Answer.TONE, recording=recording)
    caller, agent = np.abs(recording.samples().T.astype(np.int32)) > AUDIBLE_SAMPLE
    assert caller.sum() > 0.8 * RATE_HZ * 0.9
    assert agent.sum() > 2 * TONE_S * RATE_HZ * 0.8  # the greeting and the answer
    assert report.ok
    # on the common time line the agent's pause lies between the two sides
    end = np.flatnonzero(caller)[-1]
    assert np.flatnonzero(agent[end:])[0] > HOLD_S * RATE_HZ
