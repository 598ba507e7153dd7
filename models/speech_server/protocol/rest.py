"""OpenAI's REST audio API, and the server's own small answers.

Source of field names: OpenAI's API reference as implemented by `openai` 3.52.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

SpeechFormat = Literal["mp3", "opus", "aac", "flac", "wav", "pcm"]
TranscriptionFormat = Literal["json", "text", "srt", "vtt", "verbose_json"]

PCM_SAMPLE_RATE_HZ = 24_000
"""Rate of `response_format=pcm`. Source: OpenAI's API reference, "Text to speech"."""

OPENAI_VOICES = (
    "alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage",
    "shimmer", "verse",
)  # fmt: skip
"""Names that OpenAI clients insist on; each is an alias of one of the engine's voices.

Source: pipecat-ai 1.14.0, services/openai/tts.py (refuses any other name).
"""


class SpeechRequest(BaseModel):
    """Body of `POST /v1/audio/speech`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(max_length=128)
    input: str
    """Text to speak, 1 to `PARLEY_TTS_MAX_CHARS` characters."""
    voice: str | dict[str, str] = "alloy"
    """A voice id, an OpenAI voice name, or `{"id": ...}`."""
    response_format: SpeechFormat = "mp3"
    speed: float = Field(1.0, ge=0.25, le=4.0)
    stream_format: Literal["audio", "sse"] = "audio"
    instructions: str | None = Field(None, max_length=4096)
    """Accepted and not acted on by the built-in engines."""


class ModelCard(BaseModel):
    """One entry of `GET /v1/models`."""

    id: str
    object: Literal["model"] = "model"
    created: int
    """Unix seconds."""
    owned_by: str = "parley"
    task: Literal["automatic-speech-recognition", "text-to-speech"]
    languages: tuple[str, ...] = ()


class ModelList(BaseModel):
    """Answer of `GET /v1/models`."""

    object: Literal["list"] = "list"
    data: tuple[ModelCard, ...]


class VoiceCard(BaseModel):
    """One entry of `GET /v1/audio/voices`."""

    id: str
    language: str
    description: str
    aliases: tuple[str, ...] = ()
    """OpenAI voice names that select this voice."""


class VoiceList(BaseModel):
    """Answer of `GET /v1/audio/voices`."""

    voices: tuple[VoiceCard, ...]


class ErrorDetail(BaseModel):
    """OpenAI's error shape."""

    message: str
    type: str
    code: str
    param: str | None = None


class ErrorBody(BaseModel):
    """Body of every non-2xx answer."""

    error: ErrorDetail


class Health(BaseModel):
    """Answer of `/health` and `/ready`."""

    status: Literal["ok", "loading", "failed"]
    roles: dict[str, str]
    """Role to its engine's state: `loading`, `loading: reason`, `ready` or `failed: reason`."""
