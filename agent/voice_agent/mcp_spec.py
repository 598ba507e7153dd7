"""MCP servers as a persona file names them: where each is, and which of its tools may be used.

MCP is the Model Context Protocol: tools that another program offers. An operator allows each tool
by name and describes it in their own words; of what the server says about its tools, only the shape
of the arguments reaches a model.
"""

from collections.abc import Mapping
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from voice_agent.mcp_credentials import McpCredential, keeps_secrets
from voice_agent.scopes import Scope

MAX_MCP_TOOLS = 32
"""Most tools of one server; each costs prompt tokens in every turn."""

ServerName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9]{0,31}$")]
"""No underscore: a tool is called `<server>_<tool>`, and the two parts must stay apart."""

McpToolName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,64}$")]


def _web_address(value: str | None) -> str | None:
    if value is None:
        return None
    if not value.startswith(("http://", "https://")):
        raise ValueError("must begin with http:// or https://")
    parts = urlsplit(value)
    if "@" in parts.netloc:
        raise ValueError("must hold no user name or password; name a variable under credential")
    if not parts.hostname:
        raise ValueError("must name a host")
    return value


class McpToolSpec(BaseModel):
    """One allowed tool."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    description: Annotated[str, Field(min_length=1, max_length=600)]
    """What it does and when to use it, told to the model."""
    needs: tuple[Scope, ...] = ()
    """Scopes that it needs besides `mcp:use`, for example `caller:verified`."""
    writes: bool = False
    """Whether it changes anything; see `Tool.writes`."""
    timeout_s: float = Field(4.0, gt=0, le=30)
    """Longest run, seconds."""


class McpServerSpec(BaseModel):
    """One server: a web address, or a command that speaks the protocol on its standard streams."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    url: Annotated[str | None, AfterValidator(_web_address), Field(max_length=500)] = None
    """Address of a server that speaks streamable HTTP."""
    command: tuple[Annotated[str, Field(min_length=1, max_length=500)], ...] = Field(
        (), max_length=20
    )
    """Program and arguments of a server that is started for each call."""
    credential: McpCredential | None = None
    """What the server at `url` asks for; None: nothing."""
    tools: Mapping[McpToolName, McpToolSpec] = Field(min_length=1, max_length=MAX_MCP_TOOLS)
    """The allowed tools, by the names that the server gives them."""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if bool(self.url) == bool(self.command):
            raise ValueError("needs either url or command")
        if self.credential is not None:
            if self.url is None:
                raise ValueError("credential is for a server with a url")
            if not keeps_secrets(self.url):
                raise ValueError("credential needs an https:// url, or a server on loopback")
        return self
