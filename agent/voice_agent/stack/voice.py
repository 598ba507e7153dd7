"""The Orpheus voice: whether it needs a speech server of its own, and what that has to find.

vLLM fixes the versions of so much that it has an environment of its own. The stack then runs two
speech servers: the usual one, which only listens, and one in vLLM's environment, which only speaks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from voice_agent.stack.errors import StackError
from voice_agent.stack.language import serves_model
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.vllm_environment import vllm_python

READY_TIMEOUT_S = 180.0
"""Longest wait for the usual stack, seconds."""
READY_TIMEOUT_VLLM_S = 900.0
"""Longest wait for a stack with a model in vLLM, seconds: a tiny model takes a minute on a CPU,
the real one reads seven gigabytes first."""


@dataclass(frozen=True)
class VoiceServer:
    """The speech server that only speaks.

    Attributes:
        python: interpreter of its environment.
        settings: the environment variables that make it what it is.
    """

    python: Path
    settings: Mapping[str, str]


def speaks_with_orpheus(settings: RunSettings) -> bool:
    """Whether a speech server that we start speaks with Orpheus."""
    elsewhere = settings.tts_url is not None or settings.speech_url is not None
    return settings.tts_engine == "orpheus" and not elsewhere


def has_own_server(settings: RunSettings) -> bool:
    """Whether the voice gets a speech server of its own."""
    # Where vLLM can be imported beside us, one server plays both roles.
    return speaks_with_orpheus(settings) and find_spec("vllm") is None


def speech_settings(settings: RunSettings) -> dict[str, str]:
    """What the usual speech server is told: that it only listens, or how it speaks.

    Raises:
        StackError: something that the voice needs is missing; the message says what to do.
    """
    if settings.tts_url is not None or has_own_server(settings):
        return {"PARLEY_SPEECH_ROLES": "stt"}
    return _voice_settings(settings) if speaks_with_orpheus(settings) else {}


def voice_server(settings: RunSettings) -> VoiceServer | None:
    """The voice's own server; None where it has none.

    Raises:
        StackError: something that the voice needs is missing; the message says what to do.
    """
    if not has_own_server(settings):
        return None
    voice = {"PARLEY_SPEECH_ROLES": "tts", **_voice_settings(settings)}
    python = vllm_python(settings.voice_python, "PARLEY_VOICE_PYTHON", "the Orpheus voice")
    return VoiceServer(python, voice)


def ready_timeout_s(settings: RunSettings) -> float:
    """Longest wait until every process is ready, seconds."""
    if settings.ready_timeout_s is not None:
        return settings.ready_timeout_s
    loads = speaks_with_orpheus(settings) or serves_model(settings)
    return READY_TIMEOUT_VLLM_S if loads else READY_TIMEOUT_S


def _voice_settings(settings: RunSettings) -> dict[str, str]:
    """The voice's settings in full, for `.env` files are read by us and not by the server."""
    if not settings.tts_model:
        raise StackError(
            "PARLEY_TTS_ENGINE=orpheus needs PARLEY_TTS_MODEL",
            "PARLEY_TTS_MODEL=DIR, the directory of canopylabs/orpheus-3b-0.1-ft of Hugging Face.",
        )
    model = Path(settings.tts_model).expanduser().absolute()
    if not (model / "config.json").is_file():
        what = "there is no config.json in it" if model.is_dir() else "there is no such directory"
        raise StackError(
            f"PARLEY_TTS_MODEL={model}: {what}",
            "Name the directory of an Orpheus model (canopylabs/orpheus-3b-0.1-ft).",
        )
    snac = Path(settings.tts_snac).expanduser().absolute() if settings.tts_snac else model / "snac"
    if not snac.is_dir():
        raise StackError(
            f"the voice's codec is missing: there is no directory {snac}",
            "Name the directory of hubertsiuzdak/snac_24khz: PARLEY_TTS_SNAC=DIR.",
        )
    return {
        "PARLEY_TTS_ENGINE": "orpheus",
        "PARLEY_TTS_MODEL": str(model),
        "PARLEY_TTS_SNAC": str(snac),
    }
