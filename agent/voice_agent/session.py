"""One call's `AgentSession`: which models speak and listen, and when a turn begins and ends.

Nothing here may reach LiveKit's cloud: every model is an instance of ours, the turn detector is
the one inside the wheel, interruptions are decided by the local VAD, and nothing is recorded.
"""

from collections.abc import Sequence

from livekit import rtc
from livekit.agents import AgentSession, inference, llm, room_io, vad
from livekit.agents.voice.turn import TurnHandlingOptions
from livekit.plugins import silero

from speech_plugins import LLM, STT, TTS
from voice_agent.noise_suppression import suppress_noise
from voice_agent.personas import Persona
from voice_agent.prompt import system_prompt
from voice_agent.settings import AgentSettings

VAD_MIN_SILENCE_S = 0.25
"""The least that LiveKit's turn detector accepts.

Source: livekit-agents 1.8.9, voice/audio_recognition.py.
"""

MAX_ENDPOINTING_DELAY_S = 1.0
"""Wait after which a turn is over although the detector thinks that it is not."""

AEC_WARMUP_S = 1.0
"""Deaf to barge-in at the start of the greeting, while a browser's echo canceller learns."""

USER_AWAY_S = 15.0
"""Silence after which the caller is asked whether they are still there."""

CLOSE_TRANSCRIPT_S = 0.5
"""Wait for a last transcript when hanging up; the caller hears it as dead air."""

MAX_TOOL_STEPS = 5
"""Tool calls in one turn: look up, book, and room for a model's mistakes."""

MAX_PREEMPTIVE_RETRIES = 10
"""Speculative answers per turn; each pause of the caller uses one up."""

INPUT_RATE_HZ = 24_000
"""Rate of the caller's audio; at 16 kHz the turn detector often says "not finished"."""

INPUT_FRAME_MS = 20
"""Frame of the caller's audio; LiveKit's default of 50 ms adds 30 ms to every turn."""

OUTPUT_RATE_HZ = 24_000
"""Rate of the agent's audio."""


def load_vad() -> vad.VAD:
    """Load the voice activity detector; once per process, it is shared by nothing but one call."""
    return silero.VAD.load(min_silence_duration=VAD_MIN_SILENCE_S)


def turn_handling() -> TurnHandlingOptions:
    """When a turn ends and when the agent falls silent."""
    return {
        "turn_detection": inference.TurnDetector(version="v1-mini"),
        "endpointing": {"mode": "fixed", "min_delay": 0.0, "max_delay": MAX_ENDPOINTING_DELAY_S},
        "interruption": {
            "enabled": True,
            "mode": "vad",
            "min_duration": 0.4,
            "resume_false_interruption": True,
            "false_interruption_timeout": 1.5,
        },
        "preemptive_generation": {
            "enabled": True,
            "preemptive_tts": True,
            "max_retries": MAX_PREEMPTIVE_RETRIES,
        },
    }


def create_session(
    settings: AgentSettings,
    persona: Persona,
    voice_activity: vad.VAD,
    tools: Sequence[llm.Tool],
) -> AgentSession:
    """Make the session of one call.

    Args:
        settings: Where the models are.
        persona: Who speaks.
        voice_activity: Of this process alone; see `load_vad`.
        tools: What every request will carry; with the prompt it fills the model's prefix cache
            before the caller has spoken.
    """
    speech_key = settings.speech_api_key.get_secret_value() if settings.speech_api_key else None
    return AgentSession(
        stt=STT(
            url=settings.stt_url or settings.speech_url,
            api_key=speech_key,
            language=persona.language,
        ),
        llm=LLM(
            url=settings.llm_url,
            model=settings.llm_model,
            api_key=settings.llm_api_key.get_secret_value(),
            timeout_s=settings.llm_timeout_s,
            instructions=system_prompt(persona),
            tools=tools,
        ),
        tts=TTS(
            url=settings.tts_url or settings.speech_url,
            api_key=speech_key,
            voice=persona.voice,
            language=persona.language,
        ),
        vad=voice_activity,
        turn_handling=turn_handling(),
        max_tool_steps=MAX_TOOL_STEPS,
        use_tts_aligned_transcript=True,
        aec_warmup_duration=AEC_WARMUP_S,
        user_away_timeout=USER_AWAY_S,
        ivr_detection=False,
        session_close_transcript_timeout=CLOSE_TRANSCRIPT_S,
    )


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
        audio_output=room_io.AudioOutputOptions(
            sample_rate=OUTPUT_RATE_HZ,
            track_publish_options=rtc.TrackPublishOptions(source=rtc.TrackSource.SOURCE_MICROPHONE),
        ),
        text_output=True,
        close_on_disconnect=True,
        delete_room_on_close=False,
    )
