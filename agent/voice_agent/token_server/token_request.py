"""What a caller may ask for: LiveKit's TokenSource request, read through an allow-list.

`room_config` is a whole `RoomConfiguration`; copied through, it would let a caller start egress or
dispatch any agent. Only the agent's name and a persona are read; anything else is refused by name.

Source: livekit/protocol, livekit_token_source.proto (field names).
"""

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError, model_validator

from voice_agent.token_server.errors import BadRequest

_Model = TypeVar("_Model", bound=BaseModel)

MAX_METADATA_CHARS = 512
"""Longest agent metadata that is even parsed; the one key it may hold needs far less."""
MAX_NAME_CHARS = 64
"""Longest display name."""


class _Message(BaseModel):
    """A protobuf message in its JSON form, where a default value means "not set"."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_defaults(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {k: v for k, v in value.items() if v not in (None, "", 0, False, [], {})}
        return value


class AgentDispatch(_Message):
    """`room_config.agents[0]`."""

    agent_name: str | None = None
    metadata: Annotated[str, StringConstraints(max_length=MAX_METADATA_CHARS)] | None = None


class RoomConfig(_Message):
    """`room_config`, of which one agent may be named."""

    agents: list[AgentDispatch] = []


class TokenRequest(_Message):
    """Body of `POST /api/token`."""

    participant_name: Annotated[str, StringConstraints(max_length=MAX_NAME_CHARS)] | None = None
    room_config: RoomConfig = RoomConfig()


class AgentMetadata(BaseModel):
    """The JSON inside `metadata`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    persona: str


class CallTerms(BaseModel):
    """What is granted after checking."""

    model_config = ConfigDict(frozen=True)

    persona: str
    participant_name: str


def read_terms(body: bytes, agent_name: str, personas: tuple[str, ...]) -> CallTerms:
    """Check a request body.

    Args:
        body: JSON; empty means `{}`, as every field is optional.
        agent_name: the one agent that may be asked for.
        personas: those that may be asked for; the first is the default.

    Raises:
        BadRequest: malformed, or asks for more than a caller may; the field is named.
    """
    request = _parse(TokenRequest, body or b"{}")
    name = (request.participant_name or "Caller").strip()
    if not name or not name.isprintable():
        raise BadRequest("participant_name: must be printable text that is not blank")

    agents = request.room_config.agents
    if len(agents) > 1:
        raise BadRequest("room_config.agents: a call has one agent")
    dispatch = agents[0] if agents else AgentDispatch()
    if dispatch.agent_name not in (None, agent_name):
        raise BadRequest(f"room_config.agents.0.agent_name: the agent here is {agent_name!r}")
    return CallTerms(persona=_persona(dispatch.metadata, personas), participant_name=name)


def _persona(metadata: str | None, personas: tuple[str, ...]) -> str:
    if metadata is None:
        return personas[0]
    persona = _parse(AgentMetadata, metadata, where="room_config.agents.0.metadata").persona
    if persona not in personas:
        allowed = ", ".join(personas)
        raise BadRequest(f"room_config.agents.0.metadata.persona: must be one of: {allowed}")
    return persona


def _parse(model: type[_Model], text: str | bytes, where: str = "") -> _Model:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise BadRequest(_explain(error, where)) from None


def _explain(error: ValidationError, where: str) -> str:
    """Every fault with the field's path, never the value sent."""
    faults = []
    for fault in error.errors(include_url=False, include_input=False, include_context=False):
        path = ".".join([*([where] if where else []), *(str(part) for part in fault["loc"])])
        if fault["type"] == "extra_forbidden":
            faults.append(f"{path}: a caller may not set this")
        else:
            faults.append(f"{path or 'body'}: {fault['msg']}")
    return "; ".join(faults[:5])
