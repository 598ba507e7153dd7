"""What an MCP server asks of us to let us in: a secret of the environment, in one header.

A persona file names the variable and never holds the secret. Only variables made for this can be
named (`PARLEY_MCP_…`), so that a file cannot send this machine's other secrets anywhere.
"""

import ipaddress
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from voice_agent.settings import secret_variable

if TYPE_CHECKING:
    from voice_agent.personas import Persona

MAX_SECRET_CHARACTERS: Final = 4096
"""Longest secret; web servers refuse headers of 8 kB."""

_TRANSPORTS_OWN: Final = (
    "accept accept-encoding connection content-encoding content-length content-type cookie host "
    "keep-alive last-event-id origin te trailer transfer-encoding upgrade user-agent"
)
_PROTOCOL_HEADERS: Final = frozenset(_TRANSPORTS_OWN.split())
"""What the transport itself sends, besides all that begins with `mcp-`."""


class CredentialError(Exception):
    """A credential cannot be used. The message names the variable and never holds its value."""


def _own_header(name: str) -> str:
    if name.lower() in _PROTOCOL_HEADERS or name.lower().startswith("mcp-"):
        raise ValueError("is a header of the protocol itself; name one such as X-Api-Key")
    return name


class McpCredential(BaseModel):
    """One header of every request to a server."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)

    variable: Annotated[str, Field(pattern=r"^PARLEY_MCP_[A-Z0-9_]{1,64}$")]
    """Environment variable of the worker that holds the secret."""
    header: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{1,64}$"), AfterValidator(_own_header)] = (
        "Authorization"
    )
    """Name of the header."""
    scheme: Annotated[str, Field(pattern=r"^[A-Za-z0-9-]{0,32}$")] | None = None
    """Word before the secret. None: `Bearer` in `Authorization`, nothing in any other header."""

    def headers(self) -> dict[str, str]:
        """The header with its secret, read now.

        Raises:
            CredentialError: the variable is not set, or its value cannot be sent.
        """
        secret = secret_variable(self.variable)
        if secret is None:
            raise CredentialError(
                f"{self.variable} is not set; set it in the worker's environment or in .env"
            )
        value = secret.get_secret_value()
        if len(value) > MAX_SECRET_CHARACTERS:
            raise CredentialError(
                f"{self.variable} has more than {MAX_SECRET_CHARACTERS} characters"
            )
        if not value.isascii() or not value.isprintable() or value != value.strip():
            # the HTTP library would quote it in its own error
            raise CredentialError(
                f"{self.variable} holds what no header can: a line break, a blank at an end or a "
                "character that is not ASCII"
            )
        scheme = self.scheme
        if scheme is None:
            scheme = "Bearer" if self.header.lower() == "authorization" else ""
        return {self.header: f"{scheme} {value}".lstrip()}


def keeps_secrets(url: str) -> bool:
    """Whether a secret may be sent to an address: over TLS, or without leaving this machine."""
    parts = urlsplit(url)
    if parts.scheme == "https" or parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def credential_faults(persona: "Persona") -> Iterator[str]:
    """Each credential of a persona's servers that could not be used now, in words."""
    for role in (persona, *persona.agents.values()):
        for name, server in role.mcp.items():
            if server.credential is not None:
                try:
                    server.credential.headers()
                except CredentialError as error:
                    yield f"MCP server {name}: {error}"
