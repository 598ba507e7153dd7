"""Turn-taking as the settings ask for it: the framework's options, and our part beside them."""

import logging
from collections.abc import Callable
from typing import Final

from livekit.agents import AgentSession, inference, vad
from livekit.agents.voice.turn import TurnHandlingOptions
from livekit.local_inference import VAD

from voice_agent.settings import AgentSettings
from voice_agent.turns.conversation import Conversation, is_phone_call
from voice_agent.turns.endpointer import EndpointingSettings
from voice_agent.turns.heard_vad import HeardVad
from voice_agent.turns.scorer import LogisticScorer
from voice_agent.turns.sound import BundledSoundModel
from voice_agent.turns.tuned import THRESHOLD, WEIGHTS

VAD_MIN_SILENCE_S: Final = 0.25
"""Silence that the framework's VAD waits for; the least that LiveKit's turn detector accepts.

Source: livekit-agents 1.8.9, voice/audio_recognition.py.
"""
VAD_MARGIN_S: Final = 0.5
"""How much longer than our longest wait it waits where turns are ours, seconds: when it ends
something by itself, an agent that fell silent speaks on."""

_MAX_PREEMPTIVE_RETRIES: Final = 10
"""Speculative answers per turn; each pause of the caller uses one up."""
_MAX_SPECULATED_SPEECH_S: Final = 60.0
"""Longest turn that is answered ahead of its end, seconds; with LiveKit's 10 s, whoever explains
something at length would wait longest."""
_NEVER_S: Final = 3600.0
_INTERRUPTION_S: Final = {"own": _NEVER_S, "v1-mini": 0.4}
"""Speech after which the framework silences the agent, seconds. With our own turns `Conversation`
does it, at the first sign of speech."""
_FALSE_INTERRUPTION_S: Final = {"own": 0.0, "v1-mini": 1.5}
"""Silence after which an agent that fell silent for nothing goes on, seconds. Ours: we decided."""
_EXPECTED: Final = "stt end of speech received while vad is still in a speech segment"
"""What the framework warns of at every turn that ends before its VAD thinks so: here, at all."""


def turn_handling(settings: AgentSettings) -> TurnHandlingOptions:
    """When a turn ends and when the agent falls silent, in the framework's terms."""
    kind = settings.turn_detection
    return {
        # "stt": a turn ends when our stream says so, and it says what its turn taker says.
        "turn_detection": "stt" if kind == "own" else inference.TurnDetector(version="v1-mini"),
        "endpointing": {
            "mode": "fixed",
            "min_delay": 0.0,
            "max_delay": settings.turn_max_silence_s,
        },
        "interruption": {
            "enabled": True,
            "mode": "vad",
            "min_duration": _INTERRUPTION_S[kind],
            "resume_false_interruption": True,
            "false_interruption_timeout": _FALSE_INTERRUPTION_S[kind],
        },
        "preemptive_generation": {
            "enabled": True,
            "preemptive_tts": True,
            "max_retries": _MAX_PREEMPTIVE_RETRIES,
            "max_speech_duration": _MAX_SPECULATED_SPEECH_S,
        },
    }


def load_vad(settings: AgentSettings) -> vad.VAD | None:
    """Load the framework's VAD; None where turns are ours: `Conversation.vad` takes its place."""
    if settings.turn_detection == "own":
        return None
    return inference.VAD(min_silence_duration=VAD_MIN_SILENCE_S)


def call_conversation(settings: AgentSettings, language: str) -> Conversation | None:
    """Our part of one call's turn-taking; None where the framework's detector does it all.

    Args:
        settings: The worker's settings.
        language: BCP 47 tag of what the caller speaks.
    """
    if settings.turn_detection != "own":
        return None
    logging.getLogger("livekit.agents").addFilter(_is_unexpected)
    return Conversation(
        scorer=LogisticScorer(WEIGHTS),
        sound=BundledSoundModel(),
        load_voice_model=VAD,
        vad=HeardVad(_longest_wait_s(settings) + VAD_MARGIN_S),
        settings_for=_endpointing(settings),
        language=language,
    )


def _longest_wait_s(settings: AgentSettings) -> float:
    return max(settings.turn_max_silence_s, settings.phone_turn_max_silence_s)


def _endpointing(settings: AgentSettings) -> Callable[[AgentSession | None], EndpointingSettings]:
    threshold = settings.turn_threshold or THRESHOLD
    browser = EndpointingSettings(
        threshold, settings.turn_max_silence_s, settings.turn_whole_silence_s
    )
    phone = EndpointingSettings(
        settings.phone_turn_threshold or threshold,
        settings.phone_turn_max_silence_s,
        settings.phone_turn_whole_silence_s,
    )

    def of(session: AgentSession | None) -> EndpointingSettings:
        return phone if session is not None and is_phone_call(session) else browser

    return of


def _is_unexpected(record: logging.LogRecord) -> bool:
    return not str(record.msg).startswith(_EXPECTED)
