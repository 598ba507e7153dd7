"""Every setting of the speech server: environment variables `PARLEY_*`, or a `.env` file."""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

# ONNX Runtime, below Moonshine and the voice activity model, reports to its maker unless told not
# to, and reads this when it is first imported.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

Role = Literal["stt", "tts"]


class ConfigurationError(ValueError):
    """A setting asks for what this version does not have; the message names the variable."""


class SpeechServerSettings(BaseSettings):
    """Settings of one speech server process. The defaults run the built-in engines on loopback."""

    model_config = SettingsConfigDict(
        env_prefix="PARLEY_",
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
    )

    speech_host: str = "127.0.0.1"
    """Address to listen on. Loopback unless told."""
    speech_port: int = Field(8090, ge=0, le=65535)
    """TCP port; 0 takes a free one."""
    speech_roles: Annotated[tuple[Role, ...], NoDecode] = ("stt", "tts")
    """Roles this process plays, comma-separated: `stt`, `tts` or both."""
    speech_api_key: SecretStr | None = None
    """When set, every request must carry it (Bearer, Token or X-API-Key)."""
    speech_log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log level."""

    stt_engine: Literal["moonshine", "whisper"] = "moonshine"
    """Speech-to-text engine. `moonshine` is built in (English); `whisper` needs
    a model and its packages, which `PARLEY_STT_ENGINE=whisper make run` installs."""
    stt_model: str | None = None
    """Whisper: a directory in faster-whisper's format, or a name of the Hugging Face hub. Empty:
    `large-v3-turbo` on a GPU, `base` on a CPU."""
    stt_download: bool = False
    """Whisper: fetch a model of the hub that is not on this machine."""
    stt_device: Literal["auto", "cpu", "cuda"] = "auto"
    """Whisper: where to run; `auto` takes a GPU where there is one."""
    stt_compute_type: str = "auto"
    """Whisper: CTranslate2's compute type; `auto`: float16 on a GPU, int8 on a CPU."""
    stt_language: str | None = None
    """Whisper: language (BCP 47) of callers that name none. Empty: detected for each utterance."""
    stt_cpu_threads: int = Field(0, ge=0)
    """Whisper: threads of the CPU; 0 lets CTranslate2 decide."""
    stt_max_batch_size: int | None = Field(None, ge=1, le=256)
    """Whisper: most utterances in one call of the model. Empty: 32 on a GPU, 8 on a CPU."""
    stt_shortest_window_s: float = Field(10.0, ge=2.0, le=30.0)
    """Whisper: the encoder never sees less than this, seconds. Shorter is cheaper; published models
    may repeat themselves in short windows, and 30 is what they were trained on."""
    stt_word_times: bool = False
    """Whisper: give word times, at the cost of one more pass of the decoder."""
    stt_capacity_streams: int = Field(16, ge=1)
    """Streams admitted at once; the next one is refused with `overloaded`. Measure the right number
    with `parley bench stt`."""
    stt_max_latency_s: float = Field(1.0, gt=0)
    """New streams are refused while more than one in ten streams wait longer than this for a text,
    seconds, so that a capacity set too high costs the running streams nothing more."""
    stt_preflight_silence_s: float = Field(0.06, ge=0.02, le=1.0)
    """Silence after which an open utterance is decoded ahead of its end, seconds. 0.02 asks 40 ms
    sooner for 2.1 times as many readings: what the GPU profiles have."""
    stt_interim_interval_s: float = Field(0.5, ge=0.1, le=5.0)
    """Least time between two interim transcripts of one stream, seconds of audio."""
    stt_max_utterance_s: float = Field(30.0, ge=1.0, le=120.0)
    """Longest utterance before it is finalised by force, seconds."""
    stt_idle_timeout_s: float = Field(60.0, ge=1.0)
    """A stream that sends neither audio nor KeepAlive this long is closed, seconds."""
    stt_upload_max_bytes: int = Field(26_214_400, ge=1)
    """Largest uploaded file, bytes. Source: OpenAI's documented 25 MB limit."""
    stt_upload_max_s: float = Field(1800.0, ge=1.0)
    """Longest uploaded audio after decoding, seconds."""
    decode_timeout_s: float = Field(30.0, gt=0)
    """Time limit of the process that decodes an upload, seconds."""

    tts_engine: Literal["auto", "flite", "espeak", "orpheus"] = "auto"
    """Text-to-speech engine. `auto`: flite where installed, else espeak-ng."""
    tts_model: str | None = None
    """Orpheus: directory of the language model (`canopylabs/orpheus-3b-0.1-ft`)."""
    tts_snac: str | None = None
    """Orpheus: directory of the codec (`hubertsiuzdak/snac_24khz`, or `decoder.onnx` made of it).
    Empty: the folder `snac` in the model's directory."""
    tts_memory_share: float = Field(0.6, gt=0.0, le=1.0)
    """Orpheus: share of the GPU's memory (without a GPU: of the machine's) that vLLM may take."""
    tts_max_sequences: int | None = Field(None, ge=1, le=4096)
    """Orpheus: segments generated at once. Empty: as many as streams are admitted."""
    tts_temperature: float = Field(0.6, ge=0.0, le=2.0)
    """Orpheus: temperature of sampling; 0 takes the likeliest token. Source of this and the next
    two: the defaults of canopyai/Orpheus-TTS (`engine_class.py` at 835ac7c)."""
    tts_top_p: float = Field(0.8, gt=0.0, le=1.0)
    """Orpheus: share of the probability that tokens are taken from; 1 for all of it."""
    tts_repetition_penalty: float = Field(1.3, gt=0.0, le=2.0)
    """Orpheus: penalty on tokens that were there before; its README asks for 1.1 at least."""
    tts_give_silence: bool = False
    """Orpheus, experiment: begin each segment with the silent frames that the voice opens with."""
    tts_keep_prosody: bool = False
    """Orpheus, experiment: give the model what the reply has said before its next segment."""
    tts_capacity_streams: int = Field(16, ge=1)
    """Replies spoken at once; the next one is refused with `overloaded`."""
    tts_max_chars: int = Field(4096, ge=1)
    """Longest text of one request or one context, characters. Source: OpenAI's documented limit."""
    tts_max_contexts: int = Field(32, ge=1)
    """Contexts open at once on one WebSocket."""
    tts_idle_timeout_s: float = Field(300.0, ge=1.0)
    """A WebSocket that sends nothing this long is closed, seconds."""

    home: Path | None = None
    """Folder for state (`PARLEY_HOME`); the speech server keeps none there today."""

    @field_validator("speech_roles", mode="before")
    @classmethod
    def _split_roles(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value
