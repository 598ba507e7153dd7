"""Settings of the agent's processes, from environment variables or `.env` files.

Those of `parley run` are in `stack/settings.py`.

Order, first wins: the environment, `.env.local`, `.env`, then the secrets that `make run` made for
this machine (`$PARLEY_HOME/dev.env`). Names start with `PARLEY_`; LiveKit's own three names
(`LIVEKIT_URL`, `LIVEKIT_API_KEY`, `LIVEKIT_API_SECRET`) are understood as well.
"""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AliasChoices,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationError,
    create_model,
    field_validator,
)
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

# ONNX Runtime (below Silero's VAD) reports to its maker unless told not to, and reads this when it
# is first imported; every program of ours imports this module before it.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

DEV_ENV_FILE = "dev.env"
"""File in the home folder that holds this machine's generated LiveKit key and secret."""


@cache
def home_dir() -> Path:
    """The folder for secrets, databases, built binaries and logs.

    `PARLEY_HOME` where set; `.parley` in the checkout when run from one; else the user's state
    folder.
    """
    if configured := os.environ.get("PARLEY_HOME"):
        return Path(configured).expanduser()
    checkout = Path(__file__).resolve().parents[2]
    if (checkout / "pyproject.toml").is_file():
        return checkout / ".parley"
    state = os.environ.get("XDG_STATE_HOME", "~/.local/state")
    return Path(state).expanduser() / "parley"


def environment() -> dict[str, str]:
    """A copy of this process's environment: for the processes we start, and for `parley doctor`."""
    return dict(os.environ)


def secret_variable(name: str) -> SecretStr | None:
    """A secret whose name the operator chose, found where every setting is; None: unset or empty.

    Args:
        name: The variable's whole name.
    """
    setting = create_model(
        "Secret", __base__=_Named, value=(OptionalSecret, Field(None, validation_alias=name))
    )
    found: SecretStr | None = setting(_env_file=_env_files()).model_dump()["value"]
    return found


class _Named(BaseSettings):
    """Base of a setting whose name is only known at run time."""

    model_config = SettingsConfigDict(extra="ignore")


def _env_files() -> tuple[Path, ...]:
    """The `.env` files, the strongest last."""
    return (home_dir() / DEV_ENV_FILE, Path(".env"), Path(".env.local"))


def forbid_telemetry_content() -> None:
    """Keep what is said out of LiveKit's traces, in this process and in its children.

    LiveKit's own default lets an exporter see transcripts; an operator may still set the variable.
    """
    os.environ.setdefault("LIVEKIT_TELEMETRY_ALLOW_PII", "0")


OptionalText = Annotated[str | None, BeforeValidator(lambda value: value or None)]
"""Text that may be left out; an empty variable, as Compose passes it on, means the same."""

OptionalSecret = Annotated[SecretStr | None, BeforeValidator(lambda value: value or None)]
"""The same of a secret."""


class ParleySettings(BaseSettings):
    """What every process reads, and how: the base of each process's settings."""

    model_config = SettingsConfigDict(
        env_prefix="PARLEY_",
        frozen=True,
        extra="ignore",
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    livekit_url: str = Field(
        "ws://127.0.0.1:7880",
        validation_alias=AliasChoices("PARLEY_LIVEKIT_URL", "LIVEKIT_URL"),
    )
    """WebSocket URL of livekit-server."""
    livekit_api_key: str = Field(
        "", validation_alias=AliasChoices("PARLEY_LIVEKIT_API_KEY", "LIVEKIT_API_KEY")
    )
    """API key shared with livekit-server."""
    livekit_api_secret: SecretStr = Field(
        SecretStr(""),
        validation_alias=AliasChoices("PARLEY_LIVEKIT_API_SECRET", "LIVEKIT_API_SECRET"),
    )
    """API secret shared with livekit-server, at least 32 characters."""
    agent_name: str = Field("parley", pattern=r"^[A-Za-z0-9_-]{1,64}$")
    """Name under which workers register and callers ask for an agent."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Log level."""

    @classmethod
    def load(cls, **overrides: Any) -> Self:
        """Read the environment and the `.env` files.

        Raises:
            pydantic.ValidationError: a value is out of range; the message names the field.
        """
        return cls(_env_file=_env_files(), **overrides)


class AgentSettings(ParleySettings):
    """Settings of the agent worker."""

    speech_url: str = "http://127.0.0.1:8090"
    """Base URL of the speech server (both roles), without a path."""
    stt_url: str | None = None
    """Base URL of a speech-to-text server of its own; None: `speech_url`."""
    tts_url: str | None = None
    """Base URL of a text-to-speech server of its own; None: `speech_url`."""
    speech_api_key: SecretStr | None = None
    """Key for the speech server, where it asks for one."""

    llm_url: str = "http://127.0.0.1:8091/v1"
    """Base URL of any OpenAI-compatible model server. The default is the built-in script."""
    llm_model: str = "parley-responder"
    """Model to ask for."""
    llm_api_key: SecretStr = SecretStr("none")
    """Key for the model server; local ones take any."""
    llm_timeout_s: float = Field(10.0, gt=0, le=120)
    """Longest wait for the model server's next bytes, seconds."""
    llm_priorities: bool = False
    """Whether the model server heeds vLLM's `priority`, as our own language server does."""

    stt_fallback_url: OptionalText = None
    """A second speech-to-text server, which takes over while the first one fails. Empty: none."""
    tts_fallback_url: OptionalText = None
    """A second text-to-speech server, which takes over while the first one fails. Empty: none."""
    tts_fallback_voice: OptionalText = None
    """Voice to ask the second text-to-speech server for. Empty: its own default, as two engines
    seldom have voices of the same name."""
    speech_fallback_api_key: SecretStr | None = None
    """Key for the second speech servers; None: that of the first."""
    llm_fallback_url: OptionalText = None
    """A second model server, asked when the first one fails or is slow. Empty: none."""
    llm_fallback_model: OptionalText = None
    """Model to ask the second model server for. Empty: `llm_model`."""
    llm_fallback_api_key: SecretStr = SecretStr("none")
    """Key for the second model server."""

    persona: str = "front_desk"
    """Persona for calls that name none: a file name in `personas/`, or a path to a YAML file."""
    personas_dir: Path | None = None
    """Folder with further persona files."""
    database: Path | None = None
    """SQLite file of the appointments; None: `appointments.db` in the home folder."""

    worker_host: str = "127.0.0.1"
    """Address of the worker's health page."""
    worker_port: int = Field(8081, ge=0, le=65535)
    """Port of the worker's health page."""
    worker_metrics_port: int = Field(8082, ge=0, le=65535)
    """Port of the worker's Prometheus page; 0 turns it off."""
    worker_max_calls: int = Field(8, ge=1)
    """Calls that one worker takes at once; past it the worker reports itself full."""
    worker_idle_processes: int = Field(2, ge=0, le=32)
    """Job processes kept warm for the next calls."""
    noise_suppression: bool = True
    """WebRTC noise suppression and high-pass filter on telephone callers' audio while their line is
    noisy; browsers do this before they send."""

    turn_detection: Literal["own", "v1-mini"] = "own"
    """Who decides that a caller is done: `own` scores it again and again while they are silent;
    `v1-mini` is LiveKit's detector, asked once for each pause."""
    turn_threshold: float | None = Field(None, gt=0, lt=1)
    """Score from which a caller is done. Empty: the one tuned for our scorer. Higher: fewer callers
    cut off, later answers."""
    turn_max_silence_s: float = Field(1.0, ge=0.2, le=5)
    """Silence after which a caller is done whatever the score, seconds."""
    turn_whole_silence_s: float = Field(0.65, ge=0.2, le=5)
    """Silence after which a caller is done whose words may be all, seconds. 0.5 takes 0.15 s off
    the slower answers and cuts off twice as many callers (docs/adr/0007-end-of-turn.md)."""
    phone_turn_threshold: float | None = Field(None, gt=0, lt=1)
    """The same for callers on a telephone; None: `turn_threshold`."""
    phone_turn_whole_silence_s: float = Field(0.75, ge=0.2, le=5)
    """The same for callers on a telephone, whose lines add delay."""
    phone_turn_max_silence_s: float = Field(1.2, ge=0.2, le=5)
    """The same for callers on a telephone, whose lines add delay."""
    phone_trunk: OptionalText = None
    """Outbound trunk (`ST_…`) through which colleagues are called for a warm transfer. Empty: the
    server's only one."""
    card_tokeniser: OptionalText = None
    """Where payment cards go that callers key in: an https address, `module:factory` of your own,
    or `local` for trying it out. Empty: no cards are taken."""
    card_tokeniser_key: SecretStr | None = None
    """Bearer token for an https tokeniser."""
    aec_warmup_s: float = Field(1.0, ge=0, le=10)
    """Deaf to interruptions at the start of the greeting, while a browser's echo canceller learns,
    seconds."""

    @property
    def database_path(self) -> Path:
        """Where the appointments live."""
        return self.database or home_dir() / "appointments.db"


class TokenServerSettings(ParleySettings):
    """Settings of the token server, which also serves the page."""

    web_host: str = "127.0.0.1"
    """Address to listen on."""
    web_port: int = Field(8080, ge=0, le=65535)
    """Port of the page and the token endpoint."""
    web_livekit_url: str | None = None
    """LiveKit URL handed to callers when it differs from `livekit_url` (a public name)."""
    web_allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Origins besides our own that may ask for tokens, comma-separated."""
    web_allowed_personas: Annotated[tuple[str, ...], NoDecode] = (
        "front_desk",
        "bank_support",
        "bank_reception",
    )
    """Personas that a caller may ask for, comma-separated."""
    personas_dir: Path | None = None
    """Folder with further persona files; the same as the worker's."""
    token_ttl_s: int = Field(120, ge=10, le=600)
    """Lifetime of a caller's token until the first connect, seconds."""
    token_rate: str = "30/minute"
    """Tokens per client address, in the notation of the `limits` library."""
    token_auth_secret: SecretStr | None = None
    """When set, a caller must present a JWT (HS256) signed with it; required off loopback."""
    web_trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses of proxies whose `X-Forwarded-For` names the caller, comma-separated."""
    llm_url: str = "http://127.0.0.1:8091/v1"
    """Model server, named on the page."""
    llm_model: str = "parley-responder"
    """Model, named on the page."""

    @field_validator(
        "web_allowed_origins", "web_allowed_personas", "web_trusted_proxies", mode="before"
    )
    @classmethod
    def _split(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value


def setting_faults(error: ValidationError) -> Iterator[tuple[str, str]]:
    """Each wrong setting as its environment variable and what is wrong; never its value."""
    for fault in error.errors(include_input=False, include_url=False):
        name = ".".join(str(part) for part in fault["loc"]).upper()
        known = name.startswith(("PARLEY_", "LIVEKIT_"))
        yield name if known else f"PARLEY_{name}", fault["msg"]
