"""One call's `AgentSession`: which models speak and listen, and how turns are taken.

Nothing here may reach LiveKit's cloud: every model is an instance of ours, whatever detects turns
runs in this process, interruptions are decided by the local VAD, and nothing is recorded.
"""

from collections.abc import Sequence

from livekit.agents import AgentSession, llm, room_io, vad

from voice_agent.noise_suppression import suppress_noise
from voice_agent.personas import Persona
from voice_agent.prompt import system_prompt
from voice_agent.providers import create_llm, create_stt, create_tts
from voice_agent.settings import AgentSettings
from voice_agent.turns.call_turns import call_conversation, turn_handling

USER_AWAY_S = 15.0
"""Silence after which the caller is asked whether they are still there."""

CLOSE_TRANSCRIPT_S = 0.5
"""Wait for a last transcript when hanging up; the caller hears it as dead air."""

MAX_TOOL_STEPS = 5
"""Tool calls in one turn: look up, book, and room for a model's mistakes."""

INPUT_RATE_HZ = 24_000
"""Rate of the caller's audio; at 16 kHz the turn detector often says "not finished"."""

INPUT_FRAME_MS = 20
"""Frame of the caller's audio; LiveKit's default of 50 ms adds 30 ms to every turn."""

OUTPUT_RATE_HZ = 24_000
"""Rate of the agent's audio."""


def create_session(
    settings: AgentSettings,
    persona: Persona,
    voice_activity: vad.VAD | None,
    tools: Sequence[llm.Tool],
    call_id: str | None = None,
    *,
    on_phone: bool = False,
) -> AgentSession:
    """Make the session of one call.

    Args:
        settings: Where the models are.
        persona: Who speaks.
        voice_activity: Of this process alone; see `call_turns.load_vad`.
        tools: What every request will carry; with the prompt it fills the model's prefix cache
            before the caller has spoken.
        call_id: What the requests of this call have in common, so that one copy of the model
            answers them; the room's name.
        on_phone: Whether the caller is on a telephone, which has no echo canceller to wait for.
    """
    conversation = call_conversation(settings, persona.language)
    session: AgentSession = AgentSession(
        stt=create_stt(
            settings,
            language=persona.language,
            turn_taker=conversation.taker if conversation is not None else None,
        ),
        llm=create_llm(
            settings,
            instructions=system_prompt(persona),
            tools=tools,
            session_id=call_id,
            priorities=settings.llm_priorities,
        ),
        tts=create_tts(settings, voice=persona.voice, language=persona.language),
        vad=voice_activity if conversation is None else conversation.vad,
        turn_handling=turn_handling(settings),
        max_tool_steps=MAX_TOOL_STEPS,
        use_tts_aligned_transcript=True,
        aec_warmup_duration=None if on_phone else settings.aec_warmup_s or None,
        user_away_timeout=USER_AWAY_S,
        ivr_detection=False,
        session_close_transcript_timeout=CLOSE_TRANSCRIPT_S,
    )
    if conversation is not None:
        conversation.attach(session)
    return session


def room_options(settings: AgentSettings) -> room_io.RoomOptions:
    """How the session is tied to its room."""
    return room_io.RoomOptions(
        # read by `TypedText`, which bounds it
        text_input=False,
        audio_input=room_io.AudioInputOptions(
            sample_rate=INPUT_RATE_HZ,
            frame_size_ms=INPUT_FRAME_MS,
            noise_cancellation=suppress_noise if settings.noise_suppression else None,
            auto_gain_control=False,
        ),
        audio_output=False,  # `RoomAudioOutput`
        text_output=True,
        close_on_disconnect=True,
        delete_room_on_close=False,
    )
