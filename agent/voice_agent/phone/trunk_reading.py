"""Reads `trunks.yaml`: every mistake is named with its line, its field and the way out."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import yaml
from pydantic import SecretStr, ValidationError

from voice_agent.persona_yaml import PersonaError, construct, line_of, parse, read_file
from voice_agent.personas import load_persona
from voice_agent.phone.errors import BadInput, one_line
from voice_agent.phone.trunk_file import InboundTrunk, TrunkFile

MAX_FAULTS = 5
"""Mistakes that are told at once."""

Location = tuple[int | str, ...]
Fault = tuple[Location, str]


def read_trunk_file(path: Path, personas_dir: Path | None) -> TrunkFile:
    """Read and check one file.

    Args:
        path: the file.
        personas_dir: the operator's own personas.

    Raises:
        BadInput: it cannot be read, has a mistake or contradicts itself; names line and field.
    """
    try:
        root = parse(path, read_file(path))
    except PersonaError as error:
        raise BadInput(one_line(str(error))) from error
    _refuse_nested_lists(path, root)
    try:
        trunks = TrunkFile.model_validate(construct(root))
    except ValidationError as error:
        faults = [
            (fault["loc"], fault["msg"].removeprefix("Value error, "))
            for fault in error.errors(include_url=False, include_input=False)
        ]
    else:
        faults = list(_contradictions(trunks, personas_dir))
        if not faults:
            return trunks
    told = "; ".join(
        f"line {line_of(root, location)}: {_field(location)}: {message}"
        for location, message in faults[:MAX_FAULTS]
    )
    more = f" (and {len(faults) - MAX_FAULTS} more)" if len(faults) > MAX_FAULTS else ""
    raise BadInput(f"{path}: {told}{more}") from None


def passwords(
    path: Path, trunks: TrunkFile, look_up: Callable[[str], SecretStr | None]
) -> Mapping[str, SecretStr]:
    """The password of each variable that the file names.

    Args:
        path: the file, for the error.
        trunks: what it says.
        look_up: finds a variable's secret, see `voice_agent.settings.secret_variable`.

    Raises:
        BadInput: a variable is not set, or is empty.
    """
    trunks_of_both = (*trunks.inbound.values(), *trunks.outbound.values())
    names = sorted({trunk.password_env for trunk in trunks_of_both if trunk.password_env})
    found = {name: look_up(name) for name in names}
    if missing := [name for name, secret in found.items() if secret is None]:
        raise BadInput(
            f"{path}: no password in the environment: {', '.join(missing)}",
            f"Set it without writing it down: read -rs {missing[0]} && export {missing[0]}",
        )
    return {name: secret for name, secret in found.items() if secret is not None}


def normalised(number: str) -> str:
    """The number as livekit-server compares it: with its `+`, whoever spelled it."""
    return number if number.startswith("+") else f"+{number}"


def _contradictions(trunks: TrunkFile, personas_dir: Path | None) -> Iterator[Fault]:
    yield from _overlapping_trunks(trunks.inbound)
    yield from _unusable_rules(trunks)
    yield from _overlapping_rules(trunks)
    for name, rule in trunks.rules.items():
        try:
            load_persona(rule.persona, personas_dir)
        except PersonaError as error:
            yield ("rules", name, "persona"), str(error)


def _overlapping_trunks(inbound: Mapping[str, InboundTrunk]) -> Iterator[Fault]:
    taken: dict[str, str] = {}
    for name, trunk in inbound.items():
        for index, number in enumerate(trunk.numbers):
            key = normalised(number)
            if key in taken:
                yield (
                    ("inbound", name, "numbers", index),
                    f"{number} belongs to {taken[key]} already",
                )
            taken[key] = name
        if not trunk.numbers:
            if "" in taken:
                yield (
                    ("inbound", name),
                    f"takes every number, as {taken['']} does; give one of them its numbers",
                )
            taken[""] = name


def _unusable_rules(trunks: TrunkFile) -> Iterator[Fault]:
    for name, rule in trunks.rules.items():
        for index, trunk in enumerate(rule.trunks):
            if trunk not in trunks.inbound:
                known = ", ".join(trunks.inbound) or "none"
                yield (
                    ("rules", name, "trunks", index),
                    f"no inbound trunk {trunk!r}; there are: {known}",
                )
        named = [trunks.inbound[trunk] for trunk in rule.trunks if trunk in trunks.inbound]
        served = {normalised(number) for trunk in named for number in trunk.numbers}
        takes_all = not named or any(not trunk.numbers for trunk in named)
        for index, number in enumerate(rule.numbers):
            if not takes_all and normalised(number) not in served:
                yield (
                    ("rules", name, "numbers", index),
                    f"{number} is no number of {' or '.join(rule.trunks)}",
                )


def _overlapping_rules(trunks: TrunkFile) -> Iterator[Fault]:
    taken: dict[tuple[str, str], str] = {}
    for name, rule in trunks.rules.items():
        for trunk in dict.fromkeys(rule.trunks):
            for number in rule.numbers or ("",):
                key = (trunk, normalised(number) if number else "")
                if key in taken:
                    what = number or "every other number"
                    yield (
                        ("rules", name, "numbers"),
                        f"{what} on {trunk} is answered by rule {taken[key]} already",
                    )
                taken[key] = name


def _refuse_nested_lists(path: Path, node: yaml.Node) -> None:
    """No field takes one, and `parse` does not look for repeated fields in them."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            if not isinstance(item, yaml.ScalarNode):
                line = item.start_mark.line + 1
                raise BadInput(f"{path}: line {line}: a list may hold plain values only")
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            _refuse_nested_lists(path, value)


def _field(location: Location) -> str:
    return ".".join(str(step) for step in location) or "file"
