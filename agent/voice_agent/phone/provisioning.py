"""What has to change on the server so that it says what `trunks.yaml` says.

Things are the same when their names are. What the file does not name is left alone, unless it is
to be removed; what the file cannot say of a thing stays as somebody else set it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeVar

from livekit.protocol import sip
from pydantic import SecretStr

from voice_agent.phone import desired
from voice_agent.phone.desired import Described, describe_rule, describe_trunk
from voice_agent.phone.errors import BadInput, one_line
from voice_agent.phone.trunk_file import TrunkFile

Kind = Literal["inbound trunk", "outbound trunk", "rule"]
Action = Literal["create", "update", "delete"]
Info = sip.SIPInboundTrunkInfo | sip.SIPOutboundTrunkInfo | sip.SIPDispatchRuleInfo
T = TypeVar("T", sip.SIPInboundTrunkInfo, sip.SIPOutboundTrunkInfo, sip.SIPDispatchRuleInfo)


@dataclass(frozen=True)
class Provisioned:
    """Everything that the server stores for telephone calls."""

    inbound: Sequence[sip.SIPInboundTrunkInfo] = ()
    outbound: Sequence[sip.SIPOutboundTrunkInfo] = ()
    rules: Sequence[sip.SIPDispatchRuleInfo] = ()

    @property
    def trunk_names(self) -> Mapping[str, str]:
        """Id → name of the inbound trunks."""
        return {trunk.sip_trunk_id: trunk.name for trunk in self.inbound}


@dataclass(frozen=True)
class Change:
    """One thing to create, update or delete."""

    action: Action
    kind: Kind
    name: str
    id: str = ""
    """The server's id; empty for what is to be created."""
    fields: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Field → value before and after, for a person; only what differs."""

    def lines(self) -> Iterator[str]:
        """The change as a person reads it."""
        mark = {"create": "+", "update": "~", "delete": "-"}[self.action]
        yield f"{mark} {self.kind} {one_line(self.name)}"
        for name, (before, after) in self.fields.items():
            shown = after if self.action == "create" else f"{before} → {after}"
            yield f"    {name}: {one_line(shown)}"


@dataclass(frozen=True)
class Difference:
    """What the file and the server disagree about."""

    changes: Sequence[Change]
    left_alone: Sequence[tuple[Kind, str]]
    """What the server has and the file does not name."""


def difference(
    wanted: TrunkFile,
    secrets: Mapping[str, SecretStr],
    agent_name: str,
    current: Provisioned,
    *,
    prune: bool = False,
) -> Difference:
    """Compare the file with the server.

    Args:
        wanted: the file.
        secrets: passwords by environment variable.
        agent_name: agent that rules dispatch.
        current: what the server stores.
        prune: whether what the file does not name is to be deleted.

    Raises:
        BadInput: the server has two things of one name, so a name does not say which.
    """
    inbound = _named("inbound trunk", current.inbound, wanted.inbound)
    outbound = _named("outbound trunk", current.outbound, wanted.outbound)
    rules = _named("rule", current.rules, wanted.rules)
    trunk_names = current.trunk_names
    changes = [
        *_compared(
            "inbound trunk",
            wanted.inbound,
            inbound,
            lambda name, now: desired.inbound_trunk(name, wanted.inbound[name], secrets, now),
            describe_trunk,
        ),
        *_compared(
            "outbound trunk",
            wanted.outbound,
            outbound,
            lambda name, now: desired.outbound_trunk(name, wanted.outbound[name], secrets, now),
            describe_trunk,
        ),
        *_compared(
            "rule",
            wanted.rules,
            rules,
            lambda name, now: desired.dispatch_rule(
                name,
                wanted.rules[name],
                agent_name,
                # a trunk that is yet to be created has no id: its name is as different as any
                [id_of(inbound.get(trunk)) or trunk for trunk in wanted.rules[name].trunks],
                now,
            ),
            lambda info: describe_rule(info, trunk_names),
        ),
    ]
    surplus = [
        # a rule goes before the trunk that it names
        *_surplus("rule", current.rules, wanted.rules),
        *_surplus("inbound trunk", current.inbound, wanted.inbound),
        *_surplus("outbound trunk", current.outbound, wanted.outbound),
    ]
    if prune:
        deletions = [Change("delete", kind, name, id_) for kind, name, id_ in surplus]
        return Difference([*deletions, *changes], ())
    return Difference(changes, [(kind, name) for kind, name, _ in surplus])


def _compared(
    kind: Kind,
    names: Mapping[str, object],
    current: Mapping[str, T],
    build: Callable[[str, T | None], T],
    describe: Callable[[T], Described],
) -> Iterator[Change]:
    for name in names:
        now = current.get(name)
        then = build(name, now)
        after = describe(then)
        if now is None:
            yield Change("create", kind, name, "", {key: ("", text) for key, text in after.items()})
        elif then != now:
            before = describe(now)
            fields = {key: (before[key], after[key]) for key in after if before[key] != after[key]}
            if "password" not in fields and _password(then) != _password(now):
                fields["password"] = ("set", "another")
            yield Change("update", kind, name, id_of(now), fields)


def _password(info: Info) -> str:
    return "" if isinstance(info, sip.SIPDispatchRuleInfo) else info.auth_password


def _surplus(
    kind: Kind, current: Sequence[Info], wanted: Mapping[str, object]
) -> Iterator[tuple[Kind, str, str]]:
    return (
        (kind, info.name or id_of(info), id_of(info)) for info in current if info.name not in wanted
    )


def _named(kind: Kind, infos: Sequence[T], wanted: Mapping[str, object]) -> dict[str, T]:
    found: dict[str, T] = {}
    for info in infos:
        if info.name in found:
            raise BadInput(
                f"the server has two {kind}s named {info.name!r}: {id_of(found[info.name])} and "
                f"{id_of(info)}",
                "Delete one of them with the tool that made it, for example `lk sip`.",
            )
        if info.name in wanted:
            found[info.name] = info
    return found


def id_of(info: Info | None) -> str:
    """The server's id of a thing; empty for none."""
    if info is None:
        return ""
    if isinstance(info, sip.SIPDispatchRuleInfo):
        return info.sip_dispatch_rule_id
    return info.sip_trunk_id
