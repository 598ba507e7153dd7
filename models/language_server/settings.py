"""Every setting of the language server: environment variables `PARLEY_*`."""

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class LanguageServerSettings(BaseSettings):
    """Settings of the built-in responder. The defaults serve the demo on loopback."""

    model_config = SettingsConfigDict(
        env_prefix="PARLEY_", frozen=True, extra="ignore", use_attribute_docstrings=True
    )

    language_host: str = "127.0.0.1"
    """Address to listen on. Loopback unless told."""
    language_port: int = Field(8091, ge=0, le=65535)
    """TCP port; 0 takes a free one."""
    language_api_key: SecretStr | None = None
    """When set, every request must carry it as a Bearer token."""
    language_log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log level."""
    language_token_interval_s: float = Field(0.0, ge=0.0, le=1.0)
    """Pause before each streamed token, seconds; 0 streams as fast as the client reads."""
    language_max_requests: int = Field(64, ge=1)
    """Requests answered at once; the next one is refused with 429."""
    language_max_body_bytes: int = Field(1_048_576, ge=1024)
    """Largest request body, bytes."""
    language_max_messages: int = Field(2000, ge=1)
    """Most messages of one request."""
    language_body_timeout_s: float = Field(10.0, gt=0)
    """Longest wait for a whole request body, seconds."""
