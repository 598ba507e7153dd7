"""docs/protocol.md lists every route, parameter, message, field, unit and error of the server."""

import re
from collections import defaultdict
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from fastapi.routing import APIRoute, APIWebSocketRoute
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from starlette.routing import BaseRoute

from speech_server import errors
from speech_server.app import create_app
from speech_server.protocol import listen, rest, speak
from speech_server.settings import SpeechServerSettings
from speech_server.stt import (
    listen_query,
    listen_wire,
    prerecorded_wire,
    transcription_formats,
    transcriptions_wire,
)

PAGE = (Path(__file__).parents[2] / "docs" / "protocol.md").read_text()
UNITS = {
    "seconds", "milliseconds", "Unix seconds", "hertz", "bits per second", "0 to 1", "factor",
    "count", "index", "HTTP status",
}  # fmt: skip
Rows = dict[str, str]


def tables() -> dict[str, list[Rows]]:
    """The tables under each object's name (two wires have an `Error`): field to its value."""
    found: dict[str, list[Rows]] = defaultdict(list)
    for block in re.split(r"^(?=\*\*`|#)", PAGE, flags=re.MULTILINE):
        if name := re.match(r"\*\*`(\w+)`\*\*", block):
            # The first table only: what follows an error's fields are its codes.
            table = block[block.index("| field |") :].partition("\n\n")[0]
            rows = re.findall(r"^\| `(\w+)` \| (.*?) \|", table, flags=re.MULTILINE)
            found[name[1]].append(dict(rows))
    return found


def messages(*modules: ModuleType) -> list[type[BaseModel]]:
    """The objects that the wire carries, as declared in some modules."""
    return [
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, BaseModel)
        and kind.__module__ == module.__name__
        and not kind.__name__.startswith("_")
    ]


def is_number(field: FieldInfo) -> bool:
    """Whether a field holds a number or numbers that could be of any unit."""
    kinds = [field.annotation]
    while kinds:
        kind = kinds.pop()
        if kind in {int, float}:
            return True
        kinds += [] if field.default == (0, 1) else get_args(kind)
    return False


MESSAGES = messages(listen, rest, speak, prerecorded_wire, transcription_formats)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_message_is_listed_with_its_fields_and_units(kind: type[BaseModel]) -> None:
    fields = {field.alias or name: field for name, field in kind.model_fields.items()}
    listed = [rows for rows in tables()[kind.__name__] if rows.keys() == fields.keys()]
    assert listed, f"no table of {kind.__name__} with exactly the fields {', '.join(fields)}"
    for name, field in fields.items():
        value = listed[0][name]
        unit = re.search(r"(?:number|integer)s?, (.+)", value)
        assert is_number(field) == bool(unit), f"{kind.__name__}.{name}: {value}"
        assert unit is None or unit[1] in UNITS, f"{kind.__name__}.{name}: {value}"


def test_nothing_is_listed_that_does_not_exist() -> None:
    assert tables().keys() == {kind.__name__ for kind in MESSAGES}


def test_every_route_is_listed() -> None:
    routes = {"GET /openapi.json", "GET /docs", "GET /redoc"}
    found: list[BaseRoute] = [*create_app(SpeechServerSettings()).routes]
    while found:
        route = found.pop()
        if included := getattr(route, "original_router", None):  # FastAPI includes lazily
            found += included.routes
        elif isinstance(route, APIWebSocketRoute):
            routes.add(f"WS {route.path}")
        elif isinstance(route, APIRoute):
            path = route.path.replace("{model_id:path}", "{id}")
            routes |= {f"{method} {path}" for method in route.methods}
    table = PAGE[: PAGE.index("## Key")]
    assert set(re.findall(r"`((?:WS|GET|POST) [^`]+)`", table)) == routes


@pytest.mark.parametrize("heading", ["### `WS /v1/listen`", "### `POST /v1/listen`"])
def test_every_parameter_is_listed(heading: str) -> None:
    begin = PAGE.index(heading)
    own = listen_query._STREAMING if "WS" in heading else listen_query._PRERECORDED
    text = PAGE[begin : PAGE.index("\n### ", begin + 1)]
    for name in {"language", "channels", "encoding", "sample_rate", "keyterm", "keywords", *own}:
        assert f"`{name}`" in text, name
    for name in listen_query.IGNORED | listen_query.REFUSED_WHEN_ON:
        assert f"`{name}`" in PAGE, name


def test_every_form_field_is_listed() -> None:
    begin = PAGE.index("### `POST /v1/audio/transcriptions`")
    text = PAGE[begin : PAGE.index("\n### ", begin + 1)]
    for name in transcriptions_wire._READ | transcriptions_wire._IGNORED:
        assert re.search(rf"`{name}(\[\])?`", text), name


@pytest.mark.parametrize("error", errors.SpeechError.__subclasses__(), ids=lambda e: e.code)
def test_every_error_is_listed(error: type[errors.SpeechError]) -> None:
    retry = "yes" if error.retryable else "no"
    assert f"| `{error.code}` | {error.http_status} | {retry} |" in PAGE
    close_code = listen_wire._CLOSE_CODES.get(error.code)
    if close_code is not None:
        assert re.search(rf"^\| {close_code} \| `{error.code}`", PAGE, flags=re.MULTILINE)
