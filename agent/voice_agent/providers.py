"""The ears, the model and the voice that the settings name, each with a second one where asked."""

from collections.abc import Sequence
from typing import Any

from livekit.agents import llm
from pydantic import SecretStr

from speech_plugins import LLM, STT, TTS
from speech_plugins.fallback_llm import FallbackLLM
from speech_plugins.fallback_stt import FallbackSTT
from speech_plugins.fallback_tts import FallbackTTS
from voice_agent.settings import AgentSettings

NO_KEY = "none"
"""What is sent to model servers that take any key; the client library wants one."""


def create_stt(settings: AgentSettings, **options: Any) -> STT:
    """Speech to text.

    Args:
        settings: Where the speech servers are.
        options: What else an `STT` takes.
    """
    first: dict[str, Any] = {
        "url": settings.stt_url or settings.speech_url,
        "api_key": _key(settings.speech_api_key),
        **options,
    }
    if settings.stt_fallback_url is None:
        return STT(**first)
    return FallbackSTT(
        **first,
        fallback_url=settings.stt_fallback_url,
        fallback_api_key=_key(settings.speech_fallback_api_key) or first["api_key"],
    )


def create_tts(settings: AgentSettings, *, voice: str | None, language: str | None) -> TTS:
    """Text to speech.

    Args:
        settings: Where the speech servers are.
        voice: Voice of the first server; None is its default.
        language: BCP 47 tag; None lets the voice decide.
    """
    first: dict[str, Any] = {
        "url": settings.tts_url or settings.speech_url,
        "api_key": _key(settings.speech_api_key),
        "voice": voice,
        "language": language,
    }
    if settings.tts_fallback_url is None:
        return TTS(**first)
    return FallbackTTS(
        **first,
        fallback_url=settings.tts_fallback_url,
        fallback_api_key=_key(settings.speech_fallback_api_key) or first["api_key"],
        fallback_voice=settings.tts_fallback_voice,
    )


def create_llm(
    settings: AgentSettings, *, instructions: str, tools: Sequence[llm.Tool], **options: Any
) -> LLM | FallbackLLM:
    """The language model.

    Args:
        settings: Where the model servers are.
        instructions: The immutable system prompt, byte for byte as the agent sends it.
        tools: The tools that the agent offers with it.
        options: What else an `LLM` takes, of the first one.
    """
    prefix: dict[str, Any] = {"instructions": instructions, "tools": tools}
    timeout_s = settings.llm_timeout_s
    first = LLM(
        url=settings.llm_url,
        model=settings.llm_model,
        api_key=_key(settings.llm_api_key) or NO_KEY,
        timeout_s=timeout_s,
        **prefix,
        **options,
    )
    if settings.llm_fallback_url is None:
        return first
    second = LLM(
        url=settings.llm_fallback_url,
        model=settings.llm_fallback_model or settings.llm_model,
        api_key=_key(settings.llm_fallback_api_key) or NO_KEY,
        timeout_s=timeout_s,
        **prefix,
    )
    return FallbackLLM(first, second, **prefix, timeout_s=timeout_s)


def _key(secret: SecretStr | None) -> str | None:
    """A key; None where there is none, or an empty one."""
    return secret.get_secret_value() or None if secret is not None else None
