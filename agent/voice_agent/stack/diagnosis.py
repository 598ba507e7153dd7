"""What a check of an installation finds, and the checks that need nothing to run."""

import difflib
import platform
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, Literal

from pydantic import AliasChoices, ValidationError
from pydantic_settings import BaseSettings

from voice_agent.settings import DEV_ENV_FILE, setting_faults
from voice_agent.stack.credentials import readable_by_others

Status = Literal["ok", "note", "problem"]

OLDEST_PYTHON, FIRST_UNTRIED_PYTHON = (3, 11), (3, 14)

SETTINGS_CLASSES = (
    "voice_agent.stack.settings:RunSettings",
    "voice_agent.settings:AgentSettings",
    "voice_agent.settings:TokenServerSettings",
    "speech_server.settings:SpeechServerSettings",
    "language_server.settings:LanguageServerSettings",
)
"""Settings of every program, imported by name: the programs do not know each other."""

OTHER_VARIABLES = frozenset({"PARLEY_HOME"})
"""Variables that are read before there are settings."""

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*(\S.*?))?\s*\\?$")


@dataclass(frozen=True)
class Finding:
    """What one check says.

    Attributes:
        subject: what was looked at.
        status: `problem` keeps Parley from working; a `note` is worth knowing.
        detail: what was found.
        fix: what to do about it; empty when there is nothing to do.
    """

    subject: str
    status: Status
    detail: str
    fix: str = ""


def check_python() -> Finding:
    """The running interpreter."""
    version = platform.python_version()
    if OLDEST_PYTHON <= sys.version_info[:2] < FIRST_UNTRIED_PYTHON:
        return Finding("python", "ok", f"{version} ({sys.executable})")
    return Finding("python", "problem", f"{version} is not supported", "Use Python 3.11 to 3.13.")


def check_packages(requirements: Path) -> Finding:
    """The installed packages against the pinned ones; only a checkout has the pins."""
    if not requirements.is_file():
        return Finding("packages", "ok", f"parley {metadata.version('parley')}, not a checkout")
    pins = _pins(requirements.read_text())
    missing, different = [], []
    for name, wanted in pins.items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        if installed != wanted:
            different.append(f"{name} {installed} (pinned {wanted})")
    if missing:
        return Finding("packages", "problem", f"missing: {', '.join(missing)}", "make setup")
    if different:
        return Finding("packages", "note", f"not as pinned: {', '.join(different)}", "make setup")
    return Finding("packages", "ok", f"{len(pins)} as pinned")


def check_credentials(home: Path) -> Finding:
    """The file with this machine's LiveKit key and secret."""
    path = home / DEV_ENV_FILE
    if not path.exists():
        return Finding("LiveKit key", "ok", f"none yet; `parley run` makes {path}")
    if readable_by_others(path):
        return Finding(
            "LiveKit key", "problem", f"{path} can be read by others", f"chmod 600 {path}"
        )
    return Finding("LiveKit key", "ok", str(path))


def check_page(static: Path) -> Finding:
    """The page that the token server serves, and what it takes to build it."""
    if (static / "index.html").is_file():
        return Finding("page", "ok", str(static))
    if shutil.which("npm") is None:
        return Finding(
            "page",
            "problem",
            "not built, and npm is not installed",
            "Install Node 20 or newer (Debian: apt-get install nodejs npm), then: make setup",
        )
    return Finding("page", "problem", "not built", "make setup")


def check_settings(environment: Mapping[str, str]) -> Iterator[Finding]:
    """Every program's settings, and variables that no program knows."""
    names = set(OTHER_VARIABLES)
    faults = 0
    for place in SETTINGS_CLASSES:
        try:
            settings_class = _import_class(place)
        except ImportError as error:
            faults += 1
            detail = f"{place.split('.')[0]} cannot be imported: {error}"
            yield Finding("packages", "problem", detail, "make setup")
            continue
        names |= set(variable_names(settings_class))
        for fault in _faults(settings_class):
            faults += 1
            yield fault
    unknown = sorted(n for n in environment if n.startswith("PARLEY_") and n not in names)
    for name in unknown:
        near = difflib.get_close_matches(name, names, n=1)
        fix = f"Did you mean {near[0]}?" if near else "Remove it."
        yield Finding("settings", "problem", f"{name} is no setting of Parley", fix)
    if not faults and not unknown:
        used = sorted(n for n in environment if n in names)
        yield Finding("settings", "ok", ", ".join(used) or "all defaults")


def variable_names(settings_class: type[BaseSettings]) -> Iterator[str]:
    """The environment variables that a settings class reads."""
    prefix = settings_class.model_config.get("env_prefix", "")
    for name, field in settings_class.model_fields.items():
        match field.validation_alias:
            case AliasChoices(choices=choices):
                yield from (choice for choice in choices if isinstance(choice, str))
            case str(alias):
                yield alias
            case _:
                yield f"{prefix}{name}".upper()


def _import_class(place: str) -> type[BaseSettings]:
    module, name = place.split(":")
    found: type[BaseSettings] = getattr(import_module(module), name)
    return found


def _faults(settings_class: Any) -> Iterator[Finding]:
    load = getattr(settings_class, "load", settings_class)
    try:
        load()
    except ValidationError as error:
        for name, why in setting_faults(error):
            fix = f"Correct {name}, or unset it."
            yield Finding("settings", "problem", f"{name}: {why}", fix)


def _pins(text: str) -> dict[str, str]:
    """Pinned versions by package, without those that a marker leaves out."""
    pins = {}
    for line in text.splitlines():
        match = _PIN.match(line)
        if match and match.group(3) is None:
            pins[match.group(1)] = match.group(2)
    return pins
