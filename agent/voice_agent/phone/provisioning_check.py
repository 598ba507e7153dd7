"""The mistakes that trunks and rules can hold, whoever made them: each with its way out."""

import ipaddress
import json
from collections.abc import Iterator
from pathlib import Path

from livekit.protocol import sip

from voice_agent.personas import PersonaError, load_persona
from voice_agent.phone.errors import one_line
from voice_agent.phone.provisioning import Provisioned
from voice_agent.phone.trunk_file import WIDEST_PREFIX
from voice_agent.phone.trunk_reading import normalised
from voice_agent.stack.diagnosis import Finding

_TELEPHONE_CODECS = frozenset({"PCMU", "PCMA", "G722"})
_UNANSWERED = "the caller hears it ring until they or their provider give up"
"""livekit-sip rings, finds no rule and then drops the call without an answer, not even to a CANCEL.
Source: livekit/sip v1.8.0, pkg/sip/inbound.go, `DispatchNoRuleDrop`."""
_APPLY = "Correct trunks.yaml, then: parley phone apply trunks.yaml"


def check_provisioned(
    found: Provisioned, agent_name: str, personas_dir: Path | None
) -> Iterator[Finding]:
    """Look at everything that the server stores.

    Args:
        found: that.
        agent_name: name under which our workers register.
        personas_dir: the operator's own personas.
    """
    if not found.inbound and not found.outbound:
        yield Finding(
            "trunks",
            "note",
            "none: nobody can call, and nobody can be called",
            "Write trunks.yaml (docs/phone.md), then: parley phone apply trunks.yaml",
        )
    for trunk in found.inbound:
        subject = f"inbound trunk {_name(trunk)}"
        faults = list(_inbound_faults(trunk, found))
        if not faults and not trunk.auth_password:
            yield Finding(
                subject,
                "note",
                "knows its callers by their address only, and livekit-server also believes the "
                "one that a caller writes into From",
                "Set username and password_env where the provider can authenticate, and let a "
                "firewall drop SIP from elsewhere.",
            )
        else:
            yield _found(subject, faults)
    for outbound in found.outbound:
        yield _found(f"outbound trunk {_name(outbound)}", list(_codec_faults(outbound)))
    for rule in found.rules:
        faults = list(_rule_faults(rule, found, agent_name, personas_dir))
        yield _found(f"rule {_name(rule)}", faults)


def _inbound_faults(trunk: sip.SIPInboundTrunkInfo, found: Provisioned) -> Iterator[str]:
    if not trunk.allowed_addresses and not (trunk.auth_username and trunk.auth_password):
        yield "takes calls from everybody (no allowed addresses and no credentials)"
    for address in trunk.allowed_addresses:
        if not _is_network(address):
            yield f"allows {one_line(address)}, which is no network, or is most of the internet"
    rules = [rule for rule in found.rules if _applies(rule, trunk.sip_trunk_id)]
    if not rules:
        yield f"no rule says who answers: {_UNANSWERED}"
    elif all(rule.numbers for rule in rules):
        answered = {normalised(number) for rule in rules for number in rule.numbers}
        silent = [number for number in trunk.numbers if normalised(number) not in answered]
        if silent:
            yield f"no rule says who answers {', '.join(silent)}: {_UNANSWERED}"
    yield from _codec_faults(trunk)


def _codec_faults(trunk: sip.SIPInboundTrunkInfo | sip.SIPOutboundTrunkInfo) -> Iterator[str]:
    listed = {codec.name.upper() for codec in trunk.media.codecs}
    if trunk.media.only_listed_codecs and not listed & _TELEPHONE_CODECS:
        yield f"offers no codec that telephones speak ({', '.join(sorted(_TELEPHONE_CODECS))})"


def _rule_faults(
    rule: sip.SIPDispatchRuleInfo, found: Provisioned, agent_name: str, personas_dir: Path | None
) -> Iterator[str]:
    trunks = found.trunk_names
    if not rule.trunk_ids:
        yield "names no trunk, so it answers everybody, also calls that match no trunk"
    if gone := [id_ for id_ in rule.trunk_ids if id_ not in trunks]:
        yield f"names a trunk that is gone ({', '.join(gone)})"
    agents = rule.room_config.agents
    if not agents:
        yield "sends calls into a room without an agent: it rings, then callers are told busy"
    for agent in agents:
        if agent.agent_name != agent_name:
            yield f"asks for agent {agent.agent_name!r}; ours is {agent_name!r} (PARLEY_AGENT_NAME)"
            continue
        if fault := _persona_fault(agent.metadata, personas_dir):
            yield fault


def _persona_fault(metadata: str, personas_dir: Path | None) -> str | None:
    if not metadata:
        return None
    try:
        fields = json.loads(metadata)
        load_persona(str(fields["persona"]), personas_dir)
    except (ValueError, TypeError, KeyError, RecursionError):
        return 'its agent\'s metadata is not {"persona": NAME}'
    except PersonaError as error:
        return str(error)
    return None


def _applies(rule: sip.SIPDispatchRuleInfo, trunk_id: str) -> bool:
    return not rule.trunk_ids or trunk_id in rule.trunk_ids


def _is_network(address: str) -> bool:
    try:
        network = ipaddress.ip_network(address, strict=False)
    except ValueError:
        return False
    return network.prefixlen >= WIDEST_PREFIX[network.version]


def _found(subject: str, faults: list[str]) -> Finding:
    if faults:
        return Finding(subject, "problem", "; ".join(faults), _APPLY)
    return Finding(subject, "ok", "no mistake found")


def _name(
    info: sip.SIPInboundTrunkInfo | sip.SIPOutboundTrunkInfo | sip.SIPDispatchRuleInfo,
) -> str:
    if info.name:
        return one_line(info.name)
    return (
        info.sip_dispatch_rule_id
        if isinstance(info, sip.SIPDispatchRuleInfo)
        else (info.sip_trunk_id)
    )
