"""What `trunks.yaml` may say: trunks, and which persona answers which number."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)

from voice_agent.phone.numbers import DialledNumber

MAX_TRUNKS = 64
MAX_RULES = 256
MAX_NUMBERS = 256
MAX_ADDRESSES = 64

WIDEST_PREFIX = {4: 8, 6: 16}
"""Shortest prefix of an allowed network by IP version; anything wider is most of the internet."""

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,5}})?")


def _network(value: str) -> str:
    try:
        network = ipaddress.ip_network(value, strict=False)
    except ValueError:
        # livekit-server compares host names with the caller's own From header
        raise ValueError(
            "must be an IP address or a network such as 203.0.113.0/24; "
            "a host name can be forged by the caller"
        ) from None
    if network.prefixlen < WIDEST_PREFIX[network.version]:
        raise ValueError("lets in most of the internet; list your provider's networks")
    # Always with its prefix: livekit-server lets in whoever writes the very text of an entry as the
    # host of their From, and nobody writes 203.0.113.7/32 there without meaning to.
    # Source: livekit/protocol v1.50.5, sip/sip.go, matchAddrMasks.
    return str(network)


def _host_and_port(value: str) -> str:
    port = value.partition(":")[2]
    if not _HOST.fullmatch(value) or (port and not 0 < int(port) < 65536):
        raise ValueError("must be a host name or an IPv4 address, with :port if it is not 5060")
    return value


Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
Numbers = Annotated[tuple[DialledNumber, ...], Field(max_length=MAX_NUMBERS)]
Network = Annotated[str, StringConstraints(max_length=64), AfterValidator(_network)]
Address = Annotated[str, StringConstraints(max_length=260), AfterValidator(_host_and_port)]
UserName = Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$")]
VariableName = Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]{0,127}$")]
Codec = Literal["PCMU", "PCMA", "G722"]
"""Codecs that livekit-sip speaks. Source: livekit/sip v1.8.0, pkg/sip/media_codecs.go."""
Encryption = Literal["disable", "allow", "require"]


class _Fields(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=True)


class _Trunk(_Fields):
    numbers: Numbers = ()
    username: UserName | None = None
    """User name of the digest authentication."""
    password_env: VariableName | None = None
    """Environment variable that holds the password; the password itself never stands here."""
    media_encryption: Encryption = "disable"
    """SRTP: `require` together with TLS signalling, which carries its keys."""
    codecs: tuple[Codec, ...] = Field((), max_length=8)
    """The only codecs to offer, best first; empty: all."""

    @model_validator(mode="after")
    def _whole_credentials(self) -> Self:
        if self.username is not None and self.password_env is None:
            raise ValueError(
                "has a username without password_env; name the environment variable of its password"
            )
        if self.password_env is not None and self.username is None:
            raise ValueError("has password_env without username")
        return self


class InboundTrunk(_Trunk):
    """From whom calls are taken."""

    allowed_addresses: tuple[Network, ...] = Field((), max_length=MAX_ADDRESSES)
    """IP addresses and networks that calls may come from."""
    ringing_s: int = Field(20, ge=5, le=120)
    """How long it may ring until an agent is there, seconds; then the call is refused as busy (SIP
    486). An agent comes within a second or not at all, and livekit-sip's own limit is 180."""

    @model_validator(mode="after")
    def _closed(self) -> Self:
        if not self.allowed_addresses and self.username is None:
            raise ValueError(
                "is open to everybody, who could call at your cost; list allowed_addresses, or set "
                "username and password_env"
            )
        return self


class OutboundTrunk(_Trunk):
    """Through whom calls are made."""

    address: Address
    """The provider's SIP host."""
    transport: Literal["udp", "tcp", "tls"] = "udp"
    numbers: Numbers = Field(min_length=1)
    """Numbers to call from; the first one is shown to who is called."""

    @model_validator(mode="after")
    def _keys_in_the_clear(self) -> Self:
        if self.media_encryption == "require" and self.transport != "tls":
            raise ValueError(
                "requires media_encryption while its signalling, which carries the keys, is not "
                "encrypted; set transport: tls"
            )
        return self


class Rule(_Fields):
    """Which persona answers which number."""

    trunks: tuple[Name, ...] = Field(min_length=1, max_length=MAX_TRUNKS)
    """Names of inbound trunks."""
    numbers: Numbers = ()
    """Numbers of these trunks, spelled as the provider sends them; empty: all that no other rule
    names."""
    persona: str = Field(min_length=1, max_length=64)
    """Who answers."""


class TrunkFile(_Fields):
    """The whole file."""

    inbound: Mapping[Name, InboundTrunk] = Field(default_factory=dict, max_length=MAX_TRUNKS)
    outbound: Mapping[Name, OutboundTrunk] = Field(default_factory=dict, max_length=MAX_TRUNKS)
    rules: Mapping[Name, Rule] = Field(default_factory=dict, max_length=MAX_RULES)
