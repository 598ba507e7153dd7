"""A persona file's text as values, with the line of each: YAML without its surprises.

Scalars stay text, aliases and repeated fields are refused, size and depth are bounded.
"""

from pathlib import Path

import yaml

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


class PersonaError(Exception):
    """A persona cannot be used; the message is one line for an operator."""


def read_file(path: Path) -> bytes:
    """The file's bytes.

    Raises:
        PersonaError: it cannot be read or is too large.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise PersonaError(f"{path}: {error.strerror or error}") from error
    if len(raw) > MAX_FILE_BYTES:
        raise PersonaError(f"{path}: larger than {MAX_FILE_BYTES // 1024} KiB")
    return raw


def parse(path: Path, raw: bytes) -> yaml.MappingNode:
    """The file as nodes, which know their lines.

    Raises:
        PersonaError: it is not YAML, or holds what a persona never needs; names the line.
    """
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


def construct(node: yaml.Node) -> object:
    """Turn nodes into values. Scalars stay text: YAML 1.1 reads 08:00 as a number, no as False."""
    if isinstance(node, yaml.MappingNode):
        return {key.value: construct(value) for key, value in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [construct(item) for item in node.value]
    return None if node.tag == "tag:yaml.org,2002:null" else node.value


def line_of(root: yaml.Node, location: tuple[int | str, ...]) -> int:
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
