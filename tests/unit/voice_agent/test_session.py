from typing import Any

import pytest
from livekit.agents import AgentSession, inference

from speech_plugins import LLM, STT, TTS
from voice_agent.noise_suppression import suppress_noise
from voice_agent.personas import load_persona
from voice_agent.session import (
    CLOSE_TRANSCRIPT_S,
    INPUT_FRAME_MS,
    INPUT_RATE_HZ,
    create_session,
    room_options,
)
from voice_agent.settings import AgentSettings
from voice_agent.turns.call_turns import VAD_MIN_SILENCE_S, load_vad
from voice_agent.turns.heard_vad import HeardVad

CLOSED = "http://127.0.0.1:9"
"""The discard port: nothing answers, and nothing outside this machine is asked."""


@pytest.fixture(params=["own", "v1-mini"])
async def session(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    # in `dev` LiveKit's own defaults turn to its cloud; ours must not
    monkeypatch.setenv("LIVEKIT_DEV_MODE", "1")
    settings = AgentSettings(
        speech_url=CLOSED, llm_url=f"{CLOSED}/v1", turn_detection=request.param
    )
    session = create_session(settings, load_persona("front_desk"), load_vad(settings), [])
    yield session
    for model in (session.stt, session.llm, session.tts):
        assert model is not None
        await model.aclose()


async def test_every_model_is_ours(session: AgentSession) -> None:
    assert type(session.stt) is STT
    assert type(session.llm) is LLM
    assert type(session.tts) is TTS


async def test_nothing_of_the_session_is_in_a_cloud(session: AgentSession) -> None:
    detector = session.turn_detection
    if detector != "stt":
        assert isinstance(detector, inference.TurnDetector)
        assert detector.model == "turn-detector-v1-mini"
    assert session.options.interruption["mode"] == "vad"
    assert session.options.stt_context_options["keyterm_detection"]["enabled"] is False
    assert not session.options.ivr_detection
    assert session.mcp_servers is None


async def test_turns_end_without_a_floor_and_answers_are_prepared(session: AgentSession) -> None:
    options = session.options
    assert options.endpointing["min_delay"] == 0.0
    assert options.endpointing["max_delay"] == 1.0
    assert options.preemptive_generation["enabled"]
    assert options.preemptive_generation["preemptive_tts"]
    assert options.preemptive_generation["max_retries"] == 10
    assert options.session_close_transcript_timeout == CLOSE_TRANSCRIPT_S


async def test_the_vad_waits_as_long_as_whoever_ends_turns_demands(session: AgentSession) -> None:
    activity: Any = session.vad
    waits_s = activity.min_silence_duration
    if session.turn_detection == "stt":
        # one that ended something before us would let a paused agent speak on
        assert isinstance(activity, HeardVad)
        assert waits_s > 1.2
    else:
        assert waits_s == VAD_MIN_SILENCE_S >= 0.25


@pytest.mark.parametrize("suppress", [True, False])
def test_the_callers_audio_comes_as_the_turn_detector_needs_it(suppress: bool) -> None:
    options = room_options(AgentSettings(noise_suppression=suppress))
    audio = options.get_audio_input_options()
    assert audio is not None
    assert (audio.sample_rate, audio.frame_size_ms) == (INPUT_RATE_HZ, INPUT_FRAME_MS)
    assert (audio.noise_cancellation is suppress_noise) is suppress
    assert options.get_text_input_options() is None
