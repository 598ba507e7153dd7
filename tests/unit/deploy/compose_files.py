"""Compose's own reading of our files, as far as they use it: interpolation, `extends`, overlays."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[3] / "deploy"
FILES = tuple(sorted(path.name for path in DEPLOY.glob("*.yaml") if path.name != "livekit.yaml"))
LAYOUTS = {
    "built-in": ("compose.yaml",),
    "h100": ("compose.yaml", "compose.h100.yaml"),
    "a10-h100": ("compose.yaml", "compose.a10-h100.yaml"),
    "phone": ("compose.yaml", "compose.phone.yaml"),
    "spare": ("compose.yaml", "compose.h100.yaml", "compose.spare.yaml"),
}
"""What COMPOSE_FILE may name."""

VARIABLE = re.compile(r"(?<!\$)\$\{(?P<name>\w+)(?:(?P<how>:[-?])(?P<what>[^}]*))?\}")


class Missing(ValueError):
    """A required variable has no value; the text is what Compose would say."""


def load(name: str) -> Any:
    """A file as it is written."""
    return yaml.safe_load((DEPLOY / name).read_text())


def variables(name: str) -> list[re.Match[str]]:
    """Every `${…}` of a file."""
    return list(VARIABLE.finditer((DEPLOY / name).read_text()))


def interpolated(value: Any, environment: Mapping[str, str]) -> Any:
    """Values with their variables filled in.

    Raises:
        Missing: a required one is empty.
    """
    if isinstance(value, dict):
        return {key: interpolated(item, environment) for key, item in value.items()}
    if isinstance(value, list):
        return [interpolated(item, environment) for item in value]
    if not isinstance(value, str):
        return value

    def fill(found: re.Match[str]) -> str:
        given = environment.get(found["name"], "")
        if given or found["how"] is None:
            return given
        if found["how"] == ":?":
            raise Missing(f"required variable {found['name']} is missing a value: {found['what']}")
        return found["what"]

    return VARIABLE.sub(fill, value).replace("$$", "$")


def system(layout: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The files of a layout as one, later ones laid over earlier ones."""
    whole: dict[str, Any] = {}
    for name in LAYOUTS[layout]:
        document = load(name)
        for service, definition in document.get("services", {}).items():
            if parent := definition.pop("extends", None):
                inherited = load(parent["file"])["services"][parent["service"]]
                document["services"][service] = _laid_over(inherited, definition)
        whole = _laid_over(whole, document)
    filled: dict[str, Any] = interpolated(whole, environment)
    return filled


def _laid_over(below: Any, above: Any) -> Any:
    if isinstance(below, dict) and isinstance(above, dict):
        both = {name: _laid_over(below[name], above[name]) for name in below.keys() & above.keys()}
        return {**below, **above, **both}
    # Compose replaces a command and adds to the other lists; ours are added to in no other way.
    if isinstance(below, list) and isinstance(above, list) and below and above:
        return above if isinstance(above[0], str) else [*below, *above]
    return above
