"""From `trunks.yaml` to what LiveKit stores, and from that to a few lines that a person reads."""

import json
from collections.abc import Mapping, Sequence

from livekit.protocol import sip
from livekit.protocol.agent_dispatch import RoomAgentDispatch
from livekit.protocol.room import RoomConfiguration
from pydantic import SecretStr

from voice_agent.phone.trunk_file import Encryption, InboundTrunk, OutboundTrunk, Rule

ROOM_PREFIX = "call"
"""First part of the rooms of incoming calls."""

Described = Mapping[str, str]
"""Field → value as it is shown. A password is only ever `set`."""

_RINGS_S = 180
"""How long a call rings on a trunk that says nothing of it, seconds. Source: livekit/sip v1.8.0,
pkg/sip/participant.go, `defaultRingingTimeout`."""

_ENCRYPTION: Mapping[Encryption, sip.SIPMediaEncryption] = {
    "disable": sip.SIPMediaEncryption.SIP_MEDIA_ENCRYPT_DISABLE,
    "allow": sip.SIPMediaEncryption.SIP_MEDIA_ENCRYPT_ALLOW,
    "require": sip.SIPMediaEncryption.SIP_MEDIA_ENCRYPT_REQUIRE,
}
_TRANSPORT = {
    "udp": sip.SIPTransport.SIP_TRANSPORT_UDP,
    "tcp": sip.SIPTransport.SIP_TRANSPORT_TCP,
    "tls": sip.SIPTransport.SIP_TRANSPORT_TLS,
}


def dispatch_metadata(persona: str, opening: str | None = None) -> str:
    """What the worker is told of a call: a JSON object; see `persona_choice.persona_for`."""
    fields = {"persona": persona} | ({"opening": opening} if opening is not None else {})
    return json.dumps(fields, ensure_ascii=False)


def inbound_trunk(
    name: str,
    trunk: InboundTrunk,
    secrets: Mapping[str, SecretStr],
    current: sip.SIPInboundTrunkInfo | None = None,
) -> sip.SIPInboundTrunkInfo:
    """The trunk as it should be stored; what the file cannot say stays as it is in `current`."""
    info = sip.SIPInboundTrunkInfo()
    if current is not None:
        info.CopyFrom(current)
    info.name = name
    info.numbers[:] = trunk.numbers
    info.allowed_addresses[:] = trunk.allowed_addresses
    info.auth_username = trunk.username or ""
    info.auth_password = _password(trunk.password_env, secrets)
    info.ringing_timeout.FromSeconds(trunk.ringing_s)
    _set_media(info, trunk.media_encryption, trunk.codecs)
    return info


def outbound_trunk(
    name: str,
    trunk: OutboundTrunk,
    secrets: Mapping[str, SecretStr],
    current: sip.SIPOutboundTrunkInfo | None = None,
) -> sip.SIPOutboundTrunkInfo:
    """The trunk as it should be stored; what the file cannot say stays as it is in `current`."""
    info = sip.SIPOutboundTrunkInfo()
    if current is not None:
        info.CopyFrom(current)
    info.name = name
    info.address = trunk.address
    info.transport = _TRANSPORT[trunk.transport]
    info.numbers[:] = trunk.numbers
    info.auth_username = trunk.username or ""
    info.auth_password = _password(trunk.password_env, secrets)
    _set_media(info, trunk.media_encryption, trunk.codecs)
    return info


def dispatch_rule(
    name: str,
    rule: Rule,
    agent_name: str,
    trunk_ids: Sequence[str],
    current: sip.SIPDispatchRuleInfo | None = None,
) -> sip.SIPDispatchRuleInfo:
    """The rule as it should be stored; what the file cannot say stays as it is in `current`.

    A room is named after the number that was called, which is ours: rooms stand in every log, and
    the number of who calls has no business there.
    """
    info = sip.SIPDispatchRuleInfo()
    if current is not None:
        info.CopyFrom(current)
    info.name = name
    info.trunk_ids[:] = trunk_ids
    info.numbers[:] = rule.numbers
    info.rule.CopyFrom(
        sip.SIPDispatchRule(
            dispatch_rule_callee=sip.SIPDispatchRuleCallee(room_prefix=ROOM_PREFIX, randomize=True)
        )
    )
    agent = RoomAgentDispatch(agent_name=agent_name, metadata=dispatch_metadata(rule.persona))
    if not info.HasField("room_config"):
        info.room_config.CopyFrom(RoomConfiguration())
    del info.room_config.agents[:]
    info.room_config.agents.append(agent)
    return info


def describe_trunk(info: sip.SIPInboundTrunkInfo | sip.SIPOutboundTrunkInfo) -> Described:
    """A trunk's fields for a person, without its password."""
    fields = {"numbers": _listed(info.numbers, "any")}
    if isinstance(info, sip.SIPInboundTrunkInfo):
        fields["allowed addresses"] = _listed(info.allowed_addresses, "any")
        rings_s = info.ringing_timeout.ToTimedelta().total_seconds() or _RINGS_S
        fields["rings"] = f"{rings_s:g} s"
    else:
        fields["address"] = info.address
        fields["transport"] = _enum_word(sip.SIPTransport.Name(info.transport))
    fields["username"] = info.auth_username or "none"
    fields["password"] = "set" if info.auth_password else "none"
    fields["media encryption"] = _enum_word(sip.SIPMediaEncryption.Name(info.media.encryption))
    fields["codecs"] = _listed([codec.name for codec in info.media.codecs], "all")
    return fields


def describe_rule(info: sip.SIPDispatchRuleInfo, trunk_names: Mapping[str, str]) -> Described:
    """A rule's fields for a person.

    Args:
        info: the rule.
        trunk_names: id → name of every inbound trunk.
    """
    agents = info.room_config.agents
    return {
        "trunks": _listed([trunk_names.get(id_, id_) for id_ in info.trunk_ids], "any"),
        "numbers": _listed(info.numbers, "any"),
        "rooms": _enum_word(info.rule.WhichOneof("rule") or "none"),
        "agent": _listed([agent.agent_name for agent in agents], "none"),
        "metadata": _listed([agent.metadata for agent in agents], "none"),
    }


def _password(variable: str | None, secrets: Mapping[str, SecretStr]) -> str:
    return "" if variable is None else secrets[variable].get_secret_value()


def _set_media(
    info: sip.SIPInboundTrunkInfo | sip.SIPOutboundTrunkInfo,
    encryption: Encryption,
    codecs: Sequence[str],
) -> None:
    media = info.media
    media.encryption = _ENCRYPTION[encryption]
    # livekit-server copies this older field wherever the newer one is unset
    info.media_encryption = _ENCRYPTION[encryption]
    media.only_listed_codecs = bool(codecs)
    del media.codecs[:]
    media.codecs.extend(sip.SIPCodec(name=codec, rate=8000) for codec in codecs)


def _listed(values: Sequence[str], empty: str) -> str:
    return ", ".join(values) or empty


def _enum_word(name: str) -> str:
    return name.rpartition("_")[2].lower()
