"""What the page tells a caller before the call: who answers, and whether a model is behind it."""

from importlib.metadata import version
from typing import Literal

from pydantic import BaseModel, ConfigDict

from voice_agent.personas import PersonaError, load_persona
from voice_agent.settings import TokenServerSettings
from voice_agent.token_server.errors import ConfigurationError

SCRIPT_MODEL = "parley-responder"
"""Model name of the built-in responder."""

SCRIPT_NOTICE = (
    "The answers come from a script, not from a language model. It knows one conversation: the "
    "front desk of a dental practice."
)
SCRIPT_REPLACEMENT = (
    "To put a language model in its place, set PARLEY_LLM_URL to any OpenAI-compatible server and "
    "PARLEY_LLM_MODEL to its model, then start again. Ollama, llama.cpp and vLLM are found "
    "by themselves when they run on this machine."
)


class ModelInfo(BaseModel):
    """What writes the answers."""

    model_config = ConfigDict(frozen=True)

    kind: Literal["script", "model"]
    name: str
    notice: str | None
    """Plain statement that no language model is at work; None when one is."""
    replacement: str | None
    """How to put a model in the script's place."""


class PersonaInfo(BaseModel):
    """Who answers."""

    model_config = ConfigDict(frozen=True)

    name: str
    title: str
    """The name as a heading."""
    language: str
    """BCP 47 tag of the language spoken."""
    greeting: str
    """What the agent says first."""
    disclosure: str
    """The part of it that tells that the agent is not a person."""


class CallInfo(BaseModel):
    """Answer of `GET /api/info`."""

    model_config = ConfigDict(frozen=True)

    agent_name: str
    version: str
    auth_required: bool
    """Whether a caller must present a JWT."""
    persona: PersonaInfo
    llm: ModelInfo


def call_info(settings: TokenServerSettings) -> CallInfo:
    """Gather what a caller may know. The model server's address is not part of it.

    Raises:
        ConfigurationError: a persona that callers may ask for does not exist or has a mistake.
    """
    personas = [_introduce(name, settings) for name in settings.web_allowed_personas]
    scripted = settings.llm_model == SCRIPT_MODEL
    return CallInfo(
        agent_name=settings.agent_name,
        version=version("parley"),
        auth_required=settings.token_auth_secret is not None,
        persona=personas[0],
        llm=ModelInfo(
            kind="script" if scripted else "model",
            name=settings.llm_model,
            notice=SCRIPT_NOTICE if scripted else None,
            replacement=SCRIPT_REPLACEMENT if scripted else None,
        ),
    )


def _introduce(name: str, settings: TokenServerSettings) -> PersonaInfo:
    try:
        persona = load_persona(name, settings.personas_dir)
    except PersonaError as error:
        raise ConfigurationError(f"PARLEY_WEB_ALLOWED_PERSONAS: {error}") from None
    return PersonaInfo(
        name=name,
        title=name.replace("_", " ").capitalize(),
        language=persona.language,
        greeting=persona.greeting,
        disclosure=persona.disclosure,
    )
