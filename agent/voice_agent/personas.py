"""Personas: who answers the phone, read from one YAML file each.

A persona file is written by an operator and checked to the line: a mistake names the file, the
line and the field. A persona *name* may come from a caller, so a name is only ever a name: it is
looked up among known files and never becomes a path.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from voice_agent.opening_hours import OpeningHours
from voice_agent.tools.registry import TOOLS

BUILT_IN = Path(__file__).parent / "personas"
"""Personas that come with Parley."""

MAX_FILE_BYTES = 64 * 1024
"""Largest persona file; its text is sent to the model in every turn."""

MAX_DEPTH = 8
"""Deepest nesting of a persona file; 2 is what its fields need."""

_OPENING = (
    yaml.BlockMappingStartToken,
    yaml.BlockSequenceStartToken,
    yaml.FlowMappingStartToken,
    yaml.FlowSequenceStartToken,
)
_CLOSING = (yaml.BlockEndToken, yaml.FlowMappingEndToken, yaml.FlowSequenceEndToken)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")

Text = Annotated[str, Field(min_length=1, max_length=16_000)]
Sentence = Annotated[str, Field(min_length=1, max_length=600)]


class PersonaError(Exception):
    """A persona cannot be used; the message is one line for an operator."""


class UnknownPersona(PersonaError):
    """No persona has this name. The message is safe to show to a caller."""


class Persona(BaseModel):
    """Who answers the phone."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    name: str = Field(pattern=rf"^{_NAME.pattern}$")
    """Name to ask for; the same as the file's."""
    language: str = Field("en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$")
    """BCP 47 tag of the language that is spoken and understood."""
    voice: str | None = Field(None, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,63}$")
    """Voice to ask the speech server for; None: the engine's own default."""
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
    """Said when the model server failed."""
    deaf_apology: Sentence = "I am sorry, I cannot hear you at the moment. Please type instead."
    """Said when the speech server cannot listen."""
    instructions: Text
    """Who the agent is and how it behaves, for the model."""
    facts: tuple[Sentence, ...] = Field((), max_length=100)
    """What the agent may state without a tool."""
    opening_hours: OpeningHours | None = None
    """Hours that the appointment tools keep to."""
    tools: tuple[str, ...] = Field((), max_length=64)
    """Names of tools, in the order in which the model sees them."""

    @field_validator("timezone")
    @classmethod
    def _known_timezone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError("is not an IANA time zone such as Europe/London") from None
        return value

    @field_validator("tools")
    @classmethod
    def _known_tools(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if unknown := [name for name in value if name not in TOOLS]:
            raise ValueError(f"no tool {unknown[0][:64]!r}; there are: {', '.join(TOOLS)}")
        if len(set(value)) != len(value):
            raise ValueError("a tool is named twice")
        return value

    @field_validator("greeting")
    @classmethod
    def _one_line(cls, value: str) -> str:
        return " ".join(value.split())

    @model_validator(mode="after")
    def _consistent(self) -> "Persona":
        if self.disclosure not in self.greeting:
            raise ValueError("greeting must contain the words of disclosure")
        if self.opening_hours is None:
            for name in self.tools:
                if TOOLS[name].needs_opening_hours:
                    raise ValueError(f"tool {name} needs opening_hours")
        return self


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


def read_persona(path: Path) -> Persona:
    """Read and check one file.

    Raises:
        PersonaError: the file cannot be read or has a mistake; names file, line and field.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise PersonaError(f"{path}: {error.strerror or error}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise PersonaError(f"{path}: larger than {MAX_FILE_BYTES // 1024} KiB")
    root = _parse(path, raw)
    values = _construct(root)
    try:
        persona = Persona.model_validate(values)
    except ValidationError as error:
        faults = "; ".join(
            f"line {_line(root, fault['loc'])}: {_field(fault['loc'])}: "
            f"{fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors(include_url=False, include_input=False)[:5]
        )
        raise PersonaError(f"{path}: {faults}") from None
    if persona.name != path.stem:
        raise PersonaError(
            f"{path}: line {_line(root, ('name',))}: name: must be {path.stem!r} like the file"
        )
    return persona


def _files(extra_dir: Path | None) -> Iterator[Path]:
    for folder in (extra_dir, BUILT_IN):
        if folder is not None and folder.is_dir():
            yield from sorted(folder.glob("*.yaml"))


def _parse(path: Path, raw: bytes) -> yaml.MappingNode:
    try:
        text = raw.decode()
        _refuse_tricks(path, text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise PersonaError(f"{path}: is not UTF-8 text") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PersonaError(f"{path}: line {line}: {error.problem or 'is not YAML'}") from error
    except yaml.YAMLError as error:
        raise PersonaError(f"{path}: is not YAML") from error
    if not isinstance(root, yaml.MappingNode):
        raise PersonaError(f"{path}: line 1: must be a list of fields such as 'name: front_desk'")
    _refuse_repeated_fields(path, root)
    return root


def _refuse_tricks(path: Path, text: str) -> None:
    """Stop at what a persona never needs, before a parser spends time or stack on it."""
    depth = 0
    for token in yaml.scan(text):
        if isinstance(token, yaml.AliasToken):
            raise PersonaError(f"{path}: aliases (*name) are not allowed")
        depth += isinstance(token, _OPENING) - isinstance(token, _CLOSING)
        if depth > MAX_DEPTH:
            raise PersonaError(f"{path}: line {token.start_mark.line + 1}: nested too deeply")


def _refuse_repeated_fields(path: Path, mapping: yaml.MappingNode) -> None:
    seen = set()
    for key, value in mapping.value:
        if not isinstance(key, yaml.ScalarNode):
            raise PersonaError(f"{path}: line {key.start_mark.line + 1}: field names are words")
        if key.value in seen:
            raise PersonaError(f"{path}: line {key.start_mark.line + 1}: {key.value}: is repeated")
        seen.add(key.value)
        if isinstance(value, yaml.MappingNode):
            _refuse_repeated_fields(path, value)


def _construct(node: yaml.Node) -> object:
    """Turn nodes into values. Scalars stay text: YAML 1.1 reads 08:00 as a number, no as False."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: _construct(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_construct(item) for item in node.value]
    return None if node.tag == "tag:yaml.org,2002:null" else node.value


def _line(root: yaml.Node, location: tuple[int | str, ...]) -> int:
    """Line of the deepest node that a validation error points at, from 1."""
    node, line = root, root.start_mark.line + 1
    for step in location:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.value == step:
                    node, line = value, key.start_mark.line + 1
                    break
            else:
                break
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
            line = node.start_mark.line + 1
        else:
            break
    return line


def _field(location: tuple[int | str, ...]) -> str:
    return ".".join(str(step) for step in location) or "persona"
