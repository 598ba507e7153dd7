"""What has to change so that the server says what the file says."""

from livekit.protocol import sip
from pydantic import SecretStr

from voice_agent.phone.desired import dispatch_rule, inbound_trunk, outbound_trunk
from voice_agent.phone.provisioning import Provisioned, difference
from voice_agent.phone.trunk_file import TrunkFile

SECRETS = {"P": SecretStr("hidden")}
FILE = TrunkFile.model_validate(
    {
        "inbound": {
            "main": {"numbers": ["+15550100"], "allowed_addresses": ["192.0.2.1"]},
            "desk": {"numbers": ["1000"], "username": "u", "password_env": "P"},
        },
        "outbound": {"carrier": {"address": "sip.example.com", "numbers": ["+15550100"]}},
        "rules": {"desk": {"trunks": ["main", "desk"], "persona": "front_desk"}},
    }
)


def as_stored(file: TrunkFile = FILE) -> Provisioned:
    """What the server would hold after `file` was applied."""
    inbound = [inbound_trunk(name, trunk, SECRETS) for name, trunk in file.inbound.items()]
    for index, trunk in enumerate(inbound):
        trunk.sip_trunk_id = f"ST_{index}"
    outbound = [outbound_trunk(name, trunk, SECRETS) for name, trunk in file.outbound.items()]
    ids = {trunk.name: trunk.sip_trunk_id for trunk in inbound}
    rules = [
        dispatch_rule(name, rule, "parley", [ids[trunk] for trunk in rule.trunks])
        for name, rule in file.rules.items()
    ]
    return Provisioned(inbound, outbound, rules)


def lines(*, current: Provisioned, file: TrunkFile = FILE, prune: bool = False) -> list[str]:
    found = difference(file, SECRETS, "parley", current, prune=prune)
    return [line for change in found.changes for line in change.lines()]


def test_everything_is_to_be_created_on_an_empty_server() -> None:
    found = difference(FILE, SECRETS, "parley", Provisioned())
    assert [(change.action, change.name) for change in found.changes] == [
        ("create", "main"),
        ("create", "desk"),
        ("create", "carrier"),
        ("create", "desk"),
    ]
    told = "\n".join(line for change in found.changes for line in change.lines())
    assert "password: set" in told
    assert "hidden" not in told
    assert 'metadata: {"persona": "front_desk"}' in told


def test_what_is_as_it_should_be_needs_no_change() -> None:
    assert lines(current=as_stored()) == []


def test_only_what_differs_is_shown() -> None:
    current = as_stored()
    current.inbound[0].allowed_addresses[:] = ["198.51.100.1"]
    assert lines(current=current) == [
        "~ inbound trunk main",
        "    allowed addresses: 198.51.100.1 → 192.0.2.1/32",
    ]


def test_a_trunk_that_rings_as_long_as_livekit_sip_likes_is_mended() -> None:
    current = as_stored()
    current.inbound[0].ClearField("ringing_timeout")
    assert lines(current=current) == ["~ inbound trunk main", "    rings: 180 s → 20 s"]


def test_another_password_is_seen_and_not_shown() -> None:
    current = as_stored()
    current.inbound[1].auth_password = "older"
    assert lines(current=current) == ["~ inbound trunk desk", "    password: set → another"]


def test_a_rule_follows_the_agents_name_and_the_persona() -> None:
    current = as_stored()
    current.rules[0].room_config.agents[0].agent_name = "other"
    assert lines(current=current) == ["~ rule desk", "    agent: other → parley"]


def test_what_the_file_cannot_say_is_no_difference() -> None:
    current = as_stored()
    current.inbound[0].headers["X-A"] = "b"
    current.inbound[0].include_headers = sip.SIPHeaderOptions.SIP_X_HEADERS
    current.outbound[0].metadata = "kept"
    current.rules[0].room_config.max_participants = 3
    assert lines(current=current) == []


def test_rules_are_deleted_before_the_trunks_that_they_name() -> None:
    empty = TrunkFile()
    assert lines(current=as_stored(), file=empty) == []
    left = difference(empty, {}, "parley", as_stored()).left_alone
    assert ("rule", "desk") in left
    assert lines(current=as_stored(), file=empty, prune=True) == [
        "- rule desk",
        "- inbound trunk main",
        "- inbound trunk desk",
        "- outbound trunk carrier",
    ]


def test_a_nameless_trunk_of_somebody_else_is_named_by_its_id() -> None:
    other = sip.SIPInboundTrunkInfo(sip_trunk_id="ST_9", numbers=["1"])
    twin = sip.SIPInboundTrunkInfo(sip_trunk_id="ST_8", numbers=["2"])
    found = difference(TrunkFile(), {}, "parley", Provisioned(inbound=[other, twin]))
    assert list(found.left_alone) == [("inbound trunk", "ST_9"), ("inbound trunk", "ST_8")]


def test_what_others_stored_is_made_harmless() -> None:
    current = as_stored()
    current.outbound[0].address = "x\x1b[2J\r\n" + "y" * 5000
    told = lines(current=current)
    assert all(line.isprintable() and len(line) < 400 for line in told)
