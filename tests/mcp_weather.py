"""A persona that may ask an MCP server for the weather, and that server itself."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

from voice_agent.personas import Persona, read_persona

PROGRAM: Final = Path(__file__).parent / "fakes" / "mcp_server.py"
"""The server, which speaks over its standard streams when it is run."""
VARIABLE: Final = "PARLEY_MCP_WEATHER_TOKEN"
SECRET: Final = "s3cret-of-the-weather"
FORECAST: Final = {"forecast": {"description": "The weather of the coming days."}}


def weather_persona(
    folder: Path,
    server: Mapping[str, Any],
    tools: Mapping[str, Mapping[str, Any]] = FORECAST,
    own_tools: Sequence[str] = (),
) -> Persona:
    """Write the file of a persona with one MCP server, `weather`; read it back.

    Args:
        folder: where the file is written.
        server: how the server is reached: `url` or `command`, and its `credential`.
        tools: of the server, by name, as the file allows and describes them.
        own_tools: names of tools that are not the server's.

    Raises:
        PersonaError: such a file is refused.
    """
    path = folder / "house.yaml"
    path.write_text(
        yaml.safe_dump(
            {
                "name": "house",
                "disclosure": "I am a robot.",
                "greeting": "Hello. I am a robot.",
                "instructions": "You know the weather.",
                "mcp": {"weather": {**server, "tools": tools}},
                "tools": list(own_tools),
            },
            sort_keys=False,  # the model sees tools in the order of the file
        )
    )
    return read_persona(path)


def weather_application() -> Any:
    """The server as an ASGI application, with its endpoint at `/mcp`."""
    # A server object serves once.
    module = importlib.reload(importlib.import_module("tests.fakes.mcp_server"))
    return module.server.streamable_http_app()
