"""Personas: who answers the phone, read from one YAML file each.

A persona file is written by an operator and checked to the line: a mistake names the file, the
line and the field. A persona *name* may come from a caller, so a name is only ever a name: it is
looked up among known files and never becomes a path.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)

from voice_agent.mcp_spec import McpServerSpec, ServerName
from voice_agent.opening_hours import OpeningHours
from voice_agent.persona_contradictions import contradictions
from voice_agent.persona_yaml import PersonaError as PersonaError
from voice_agent.persona_yaml import construct, line_of, parse, read_file
from voice_agent.scopes import EARNED, Scope
from voice_agent.telephony.phone_numbers import same_number
from voice_agent.telephony.phone_spec import (
    MAX_DESTINATIONS,
    DestinationName,
    PhoneSpec,
    TransferSpec,
)
from voice_agent.tools.registry import TOOLS

BUILT_IN = Path(__file__).parent / "personas"
"""Personas that come with Parley."""

MAX_COLLEAGUES = 8
"""Most further agents of one persona; each costs a prefix in the model's cache."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def _known_tools(value: tuple[str, ...]) -> tuple[str, ...]:
    if unknown := [name for name in value if name not in TOOLS]:
        raise ValueError(f"no tool {unknown[0][:64]!r}; there are: {', '.join(TOOLS)}")
    if len(set(value)) != len(value):
        raise ValueError("a tool is named twice")
    return value


def _grantable(value: tuple[Scope, ...] | None) -> tuple[Scope, ...] | None:
    if misplaced := EARNED & set(value or ()):
        raise ValueError(f"{min(misplaced)} is earned by a check in the call, never granted")
    return value


Text = Annotated[str, Field(min_length=1, max_length=16_000)]
Sentence = Annotated[str, Field(min_length=1, max_length=600)]
Language = Annotated[str, Field(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$")]
Voice = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")]
Facts = Annotated[tuple[Sentence, ...], Field(max_length=100)]
ToolNames = Annotated[tuple[str, ...], Field(max_length=64), AfterValidator(_known_tools)]
ScopeNames = Annotated[tuple[Scope, ...] | None, AfterValidator(_grantable)]
ColleagueName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,31}$")]


class UnknownPersona(PersonaError):
    """No persona has this name. The message is safe to show to a caller."""


class _Role(BaseModel):
    """What every agent of a persona has of its own."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    voice: Voice | None = None
    """Voice to ask the speech server for; None: the engine's own default."""
    instructions: Text
    """Who the agent is and how it behaves, for the model."""
    facts: Facts = ()
    """What the agent may state without a tool."""
    tools: ToolNames = ()
    """Names of tools, in the order in which the model sees them."""
    scopes: ScopeNames = None
    """What the agent may do. None: what its tools need, but for scopes that a check must earn."""
    hands_over_to: tuple[ColleagueName, ...] = Field((), max_length=MAX_COLLEAGUES)
    """Names in `agents` to which this agent may hand the caller over."""
    transfers_to: tuple[DestinationName, ...] = Field((), max_length=MAX_DESTINATIONS)
    """Names in `phone.transfers` to which this agent may transfer a telephone call."""
    mcp: Mapping[ServerName, McpServerSpec] = Field(default_factory=dict, max_length=8)
    """MCP servers by name, with the tools of each that may be used."""

    @property
    def granted(self) -> frozenset[Scope]:
        """The scopes that the operator grants this agent."""
        if self.scopes is not None:
            return frozenset(self.scopes)
        return frozenset(scope for _, needs in self.needed() for scope in needs) - EARNED

    def needed(self) -> Iterator[tuple[str, frozenset[Scope]]]:
        """Each thing that the agent is told to do, with the scopes that this needs."""
        for name in self.tools:
            yield f"tool {name}", TOOLS[name].needs
        if self.hands_over_to:
            yield "hands_over_to", frozenset({Scope.CALL_CONTROL})
        if self.transfers_to:
            yield "transfers_to", frozenset({Scope.CALL_CONTROL})
        for name, server in self.mcp.items():
            for tool in server.tools.values():
                yield f"mcp {name}", frozenset({Scope.MCP, *tool.needs})


class Colleague(_Role):
    """A further agent of the same persona, to whom a caller is handed over."""

    when: Sentence
    """What this agent is for, told to the agents that may hand over to it."""
    introduction: Sentence | None = None
    """First words when it takes over; None: it goes straight on with the caller's wish."""
    language: Language | None = None
    """BCP 47 tag; None: the persona's."""


class Persona(_Role):
    """Who answers the phone."""

    name: str = Field(pattern=rf"^{_NAME.pattern}$")
    """Name to ask for; the same as the file's."""
    language: Language = "en"
    """BCP 47 tag of the language that is spoken and understood."""
    timezone: str | None = None
    """IANA time zone of the practice; None: this machine's."""
    disclosure: Sentence
    """How the agent says that it is a machine; must occur in the greeting.

    Source: Regulation (EU) 2024/1689, article 50(1): callers are told at first contact.
    """
    greeting: Sentence
    """First words of every call."""
    farewell: Sentence = "Thank you for calling. Goodbye!"
    """Said before hanging up, where the model itself said nothing."""
    silence_prompt: Sentence = "Are you still there?"
    """Said once when the caller has been silent for long."""
    apology: Sentence = "I am sorry, I could not work that out. Could you say it again, please?"
    """Said when the model failed, or answered with nothing that can be said."""
    deaf_apology: Sentence = "I am sorry, I cannot hear you at the moment. Please type instead."
    """Said when the speech server cannot listen."""
    filler: Sentence | None = "One moment, I am looking that up."
    """Said once in a turn whose tools take long; None: nothing."""
    opening_hours: OpeningHours | None = None
    """Hours that the appointment tools keep to."""
    phone: PhoneSpec = PhoneSpec()
    """Numbers, keys, transfers and answering machines, for telephone calls."""
    agents: Mapping[ColleagueName, Colleague] = Field(
        default_factory=dict, max_length=MAX_COLLEAGUES
    )
    """Further agents by name. The persona itself is the first agent and greets."""

    @property
    def destinations(self) -> Mapping[str, TransferSpec]:
        """Where the first agent may transfer a telephone call, by name."""
        return {name: self.phone.transfers[name] for name in self.transfers_to}

    @field_validator("timezone")
    @classmethod
    def _known_timezone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError("is not an IANA time zone such as Europe/London") from None
        return value

    @field_validator("greeting")
    @classmethod
    def _one_line(cls, value: str) -> str:
        return " ".join(value.split())

    def colleague(self, name: str) -> "Persona":
        """One of `agents` as a persona: its own words, tools and scopes, the rest from this one.

        Raises:
            KeyError: there is none with this name.
        """
        role = self.agents[name]
        return self.model_copy(
            update={
                **{field: getattr(role, field) for field in _Role.model_fields},
                "language": role.language or self.language,
            }
        )


def load_persona(name: str, extra_dir: Path | None = None) -> Persona:
    """Look a persona up by name: first in the operator's folder, then among the built-in ones.

    Raises:
        UnknownPersona: there is none; nothing of the name but its known form is echoed.
        PersonaError: its file has a mistake.
    """
    if not _NAME.fullmatch(name):
        raise UnknownPersona("A persona's name has letters, digits, '_' and '-' only.")
    for path in _files(extra_dir):
        if path.stem == name:
            return read_persona(path)
    known = sorted({path.stem for path in _files(extra_dir)})
    raise UnknownPersona(f"There is no persona {name!r}; there are: {', '.join(known)}.")


def default_persona(setting: str, extra_dir: Path | None = None) -> Persona:
    """Load the operator's own choice: a name, or a path to a YAML file.

    Raises:
        PersonaError: there is no such persona, or its file has a mistake.
    """
    if setting.endswith((".yaml", ".yml")) or "/" in setting:
        return read_persona(Path(setting).expanduser())
    return load_persona(setting, extra_dir)


def persona_for_number(number: str, extra_dir: Path | None = None) -> Persona | None:
    """The persona whose `phone.numbers` hold a number of ours; None where none does.

    Args:
        number: The number that a caller dialled; compared without a leading `+`.
        extra_dir: The operator's folder, looked through first.

    Raises:
        PersonaError: a persona file has a mistake, or two files of a folder claim the number.
    """
    for folder in (extra_dir, BUILT_IN):
        claimants = [
            persona
            for persona in map(read_persona, _files_in(folder))
            if any(same_number(number, own) for own in persona.phone.numbers)
        ]
        if len(claimants) > 1:
            names = ", ".join(persona.name for persona in claimants)
            raise PersonaError(f"{folder}: several personas claim one number: {names}")
        if claimants:
            return claimants[0]
    return None


def read_persona(path: Path) -> Persona:
    """Read and check one file.

    Raises:
        PersonaError: the file cannot be read, has a mistake or contradicts itself; names file, line
            and field.
    """
    root = parse(path, read_file(path))
    try:
        persona = Persona.model_validate(construct(root))
    except ValidationError as error:
        faults = [
            (fault["loc"], fault["msg"].removeprefix("Value error, "))
            for fault in error.errors(include_url=False, include_input=False)
        ]
    else:
        faults = list(contradictions(persona, path.stem))
        if not faults:
            return persona
    told = "; ".join(
        f"line {line_of(root, location)}: {_field(location)}: {message}"
        for location, message in faults[:5]
    )
    raise PersonaError(f"{path}: {told}") from None


def _files(extra_dir: Path | None) -> Iterator[Path]:
    for folder in (extra_dir, BUILT_IN):
        yield from _files_in(folder)


def _files_in(folder: Path | None) -> Sequence[Path]:
    return sorted(folder.glob("*.yaml")) if folder is not None and folder.is_dir() else ()


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in location) or "persona"
