"""Every setting of the language server: environment variables `PARLEY_*`."""

import os
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

ProfileName = Literal["cpu", "a10", "l40s", "h100", "2xh100"]


class LanguageServerSettings(BaseSettings):
    """Settings of one language server. The defaults serve the built-in responder on loopback."""

    model_config = SettingsConfigDict(
        env_prefix="PARLEY_",
        # As Compose passes on what is not set.
        env_ignore_empty=True,
        frozen=True,
        extra="ignore",
        use_attribute_docstrings=True,
    )

    language_engine: Literal["responder", "vllm"] = "responder"
    """What answers: the built-in script, or a model in vLLM."""
    language_host: str = "127.0.0.1"
    """Address to listen on. Loopback unless told."""
    language_port: int = Field(8091, ge=0, le=65535)
    """TCP port; 0 takes a free one."""
    language_api_key: SecretStr | None = None
    """When set, every request must carry it as a Bearer token."""
    language_log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log level."""
    language_token_interval_s: float = Field(0.0, ge=0.0, le=1.0)
    """Responder: pause before each streamed token, seconds; 0 streams as fast as the client
    reads."""
    language_max_requests: int = Field(64, ge=1, le=4096)
    """Requests answered at once; the next one is refused with 429. With vLLM of each replica, and
    where it is not set, as many as `PARLEY_LANGUAGE_MAX_SEQUENCES`."""
    language_max_body_bytes: int = Field(1_048_576, ge=1024)
    """Largest request body, bytes."""
    language_max_messages: int = Field(2000, ge=1)
    """Most messages of one request."""
    language_body_timeout_s: float = Field(10.0, gt=0)
    """Longest wait for a whole request body, seconds."""

    language_model: Path | None = None
    """vLLM: directory of the model (Hugging Face's format). Nothing is downloaded."""
    language_model_name: str | None = Field(None, pattern=r"^[A-Za-z0-9_./-]{1,128}$")
    """vLLM: name under which requests ask for the model. Empty: the directory's name."""
    language_profile: ProfileName | None = None
    """vLLM: the hardware that the defaults below are for (`python -m language_server --explain`
    shows them). Empty: `cpu`."""
    language_python: Path | None = None
    """vLLM: interpreter of the environment with vLLM. Empty: the one that runs the server."""
    language_replicas: int = Field(1, ge=1, le=8)
    """vLLM: copies of the model to run, each on GPUs of its own. A call stays with its copy."""
    language_upstreams: Annotated[tuple[str, ...], NoDecode] = ()
    """vLLM: base URLs of vLLM servers that run already, comma-separated; none is started then."""
    language_memory_share: float | None = Field(None, gt=0.0, le=0.98)
    """vLLM: share of the GPU's memory for weights and cache. Empty: the profile's."""
    language_cpu_cache_gib: int = Field(1, ge=1, le=1024)
    """vLLM on a CPU: memory for the cache, GiB."""
    language_cache_blocks: int | None = Field(None, ge=8)
    """vLLM: blocks of the cache. Empty: as many as the memory has room for."""
    language_context_tokens: int | None = Field(None, ge=256, le=1_048_576)
    """vLLM: longest prompt and answer together, tokens. Empty: the profile's, and no more than the
    model has."""
    language_max_sequences: int | None = Field(None, ge=1, le=1024)
    """vLLM: requests of one step. Empty: the profile's."""
    language_max_batched_tokens: int | None = Field(None, ge=32, le=65_536)
    """vLLM: tokens of one step, prompts included. Empty: the profile's."""
    language_quantization: str | None = Field(None, pattern=r"^[a-z0-9_-]{1,32}$")
    """vLLM: quantise 16-bit weights when they are loaded (`fp8`); `none` leaves them as they are.
    Empty: the profile's for weights of 16 bits; a quantised model is never quantised again."""
    language_kv_cache_dtype: Literal["auto", "fp8"] = "auto"
    """vLLM: type of the cache; `fp8` holds twice the tokens, at some loss."""
    language_tool_parser: str | None = Field(None, pattern=r"^[a-z0-9_-]{1,32}$")
    """vLLM: how the model writes tool calls. Empty: read from its chat template; `none`: it calls
    none."""
    language_max_tokens: int = Field(512, ge=1, le=65_536)
    """vLLM: longest answer, tokens; a request may ask for less."""
    language_reserved_requests: int | None = Field(None, ge=0)
    """vLLM: places that speculative requests leave free for committed turns; background work leaves
    twice as many. Empty: a quarter."""
    language_max_rate_hz: float = Field(200.0, gt=0)
    """vLLM: requests taken per second, all callers together; more are refused with 429."""
    language_request_timeout_s: float = Field(120.0, gt=0, le=3600)
    """vLLM: longest time for a whole answer, seconds."""
    language_start_timeout_s: float = Field(900.0, gt=0, le=7200)
    """vLLM: longest wait until a copy of the model is loaded, seconds."""
    language_max_restarts: int = Field(3, ge=0, le=100)
    """vLLM: how often a copy that dies is started again before the server gives up. One that has
    answered for ten minutes has all of them again."""
    language_warm_prefixes: int = Field(16, ge=0, le=1024)
    """vLLM: prompt prefixes that are kept in the cache; the ones unused for longest go first."""

    @field_validator("language_upstreams", mode="before")
    @classmethod
    def _split(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip().rstrip("/") for part in value.split(",") if part.strip())
        return value


def environment() -> dict[str, str]:
    """A copy of this process's environment, for the processes that we start."""
    return dict(os.environ)


def allowed_cores() -> int:
    """Processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
