"""`parley phone apply` and `list` against a real livekit-server with Redis."""

import asyncio
import json
from pathlib import Path

import pytest
from livekit import api
from livekit.protocol.sip import SIPDispatchRuleInfo, SIPInboundTrunkInfo

from tests.contract.phone.conftest import PhoneServer
from voice_agent.phone.apply import read_provisioned
from voice_agent.phone.provisioning import Provisioned

PASSWORD = "correct-horse-battery-staple"

TRUNKS = """\
inbound:
  main:
    numbers: ["+15550100", "+15550101"]
    allowed_addresses: [192.0.2.0/24, 2001:db8::/32]
  desk:
    numbers: ["1000"]
    username: desk-phone
    password_env: DESK_PASSWORD
    media_encryption: allow
    codecs: [PCMA]
outbound:
  carrier:
    address: sip.example.com:5061
    transport: tls
    numbers: ["+15550100"]
    username: parley
    password_env: CARRIER_PASSWORD
    media_encryption: require
rules:
  front_desk:
    trunks: [main, desk]
    persona: front_desk
  bank:
    trunks: [main]
    numbers: ["+15550101"]
    persona: bank_support
"""

SECRETS = {"DESK_PASSWORD": PASSWORD, "CARRIER_PASSWORD": PASSWORD}


@pytest.fixture
def trunks(tmp_path: Path) -> Path:
    path = tmp_path / "trunks.yaml"
    path.write_text(TRUNKS)
    return path


def stored(
    server: PhoneServer,
) -> tuple[dict[str, SIPInboundTrunkInfo], dict[str, SIPDispatchRuleInfo]]:
    found = asyncio.run(provisioned(server))
    return {t.name: t for t in found.inbound}, {r.name: r for r in found.rules}


async def provisioned(server: PhoneServer) -> Provisioned:
    async with server.client() as client:
        return await read_provisioned(client.sip)


async def replace(server: PhoneServer, trunk: SIPInboundTrunkInfo) -> None:
    async with server.client() as client:
        await client.sip.update_inbound_trunk(trunk.sip_trunk_id, trunk)


def store(server: PhoneServer, *trunks: SIPInboundTrunkInfo) -> None:
    """Make trunks by another tool."""

    async def create() -> None:
        async with server.client() as client:
            for trunk in trunks:
                request = api.CreateSIPInboundTrunkRequest(trunk=trunk)
                await client.sip.create_inbound_trunk(request)

    asyncio.run(create())


def test_the_server_gets_what_the_file_says(phone_server: PhoneServer, trunks: Path) -> None:
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert result.exit_code == 0, result.output
    inbound, rules = stored(phone_server)
    assert list(inbound["main"].allowed_addresses) == ["192.0.2.0/24", "2001:db8::/32"]
    assert inbound["desk"].auth_username == "desk-phone"
    assert inbound["desk"].auth_password == PASSWORD
    assert [codec.name for codec in inbound["desk"].media.codecs] == ["PCMA"]
    assert asyncio.run(provisioned(phone_server)).outbound[0].auth_password == PASSWORD
    (agent,) = rules["bank"].room_config.agents
    assert agent.agent_name == "parley"
    assert json.loads(agent.metadata) == {"persona": "bank_support"}
    assert list(rules["bank"].numbers) == ["+15550101"]
    assert set(rules["front_desk"].trunk_ids) == {
        inbound["main"].sip_trunk_id,
        inbound["desk"].sip_trunk_id,
    }
    assert rules["front_desk"].rule.dispatch_rule_callee.randomize


def test_applying_twice_changes_nothing(phone_server: PhoneServer, trunks: Path) -> None:
    phone_server.parley("apply", trunks, "--yes", **SECRETS)
    before = stored(phone_server)
    again = phone_server.parley("apply", trunks, **SECRETS)
    assert (again.exit_code, again.output) == (0, "Nothing to change.\n")
    assert stored(phone_server) == before


def test_a_change_keeps_ids_and_what_the_file_cannot_say(
    phone_server: PhoneServer, trunks: Path
) -> None:
    phone_server.parley("apply", trunks, "--yes", **SECRETS)
    inbound, rules = stored(phone_server)
    main = inbound["main"]
    main.headers["X-Tenant"] = "north"
    asyncio.run(replace(phone_server, main))
    trunks.write_text(
        TRUNKS.replace("192.0.2.0/24", "198.51.100.7").replace("bank_support", "bank_reception")
    )
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert "192.0.2.0/24, 2001:db8::/32 → 198.51.100.7/32, 2001:db8::/32" in result.output
    now, rules_now = stored(phone_server)
    assert now["main"].sip_trunk_id == main.sip_trunk_id
    assert now["main"].headers["X-Tenant"] == "north"
    assert rules_now["bank"].sip_dispatch_rule_id == rules["bank"].sip_dispatch_rule_id
    (agent,) = rules_now["bank"].room_config.agents
    assert json.loads(agent.metadata) == {"persona": "bank_reception"}


def test_a_password_is_never_shown_and_its_change_is(
    phone_server: PhoneServer, trunks: Path
) -> None:
    first = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    changed = phone_server.parley(
        "apply", trunks, "--yes", **{**SECRETS, "DESK_PASSWORD": "another-password"}
    )
    listed = phone_server.parley("list")
    as_json = phone_server.parley("list", "--json")
    assert "password: set → another" in changed.output
    assert changed.output.count("updated") == 1
    for output in (first.output, changed.output, listed.output, as_json.output):
        assert PASSWORD not in output
        assert "another-password" not in output
    log = (phone_server.home / "livekit.log").read_text()
    assert "CreateSIPInboundTrunk" in log
    assert PASSWORD not in log
    assert json.loads(as_json.output)["inbound trunks"]["desk"]["password"] == "set"
    assert "calls: none" in listed.output


def test_nothing_happens_without_a_yes(phone_server: PhoneServer, trunks: Path) -> None:
    for arguments, answer, status in (
        (("--dry-run",), "", 0),
        ((), "n\n", 1),
        ((), "", 1),
    ):
        result = phone_server.parley("apply", trunks, *arguments, typed=answer, **SECRETS)
        assert result.exit_code == status
        assert "+ inbound trunk main" in result.output
        assert "Nothing was changed" in result.output
    assert stored(phone_server) == ({}, {})
    agreed = phone_server.parley("apply", trunks, typed="y\n", **SECRETS)
    assert agreed.exit_code == 0
    assert len(stored(phone_server)[0]) == 2


def test_what_the_file_does_not_name_stays_unless_pruned(
    phone_server: PhoneServer, trunks: Path
) -> None:
    phone_server.parley("apply", trunks, "--yes", **SECRETS)
    trunks.write_text("inbound: {}\n")
    kept = phone_server.parley("apply", trunks)
    assert "rule bank is not in the file and is left alone" in kept.output
    assert len(stored(phone_server)[0]) == 2
    pruned = phone_server.parley("apply", trunks, "--yes", "--prune")
    assert pruned.exit_code == 0, pruned.output
    assert stored(phone_server) == ({}, {})


def test_a_number_moves_to_a_trunk_that_comes_first_in_the_file(
    phone_server: PhoneServer, trunks: Path
) -> None:
    """The server takes no state, not even for a moment, in which two trunks have one number."""
    trunks.write_text(TRUNKS.replace('["1000"]', '["1000", "1001"]'))
    phone_server.parley("apply", trunks, "--yes", **SECRETS)
    trunks.write_text(
        TRUNKS.replace('"+15550101"]\n    allowed', '"+15550101", "1001"]\n    allowed')
    )
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert result.exit_code == 0, result.output
    inbound, _ = stored(phone_server)
    assert list(inbound["main"].numbers) == ["+15550100", "+15550101", "1001"]
    assert list(inbound["desk"].numbers) == ["1000"]


def test_two_trunks_exchange_their_numbers(phone_server: PhoneServer, trunks: Path) -> None:
    phone_server.parley("apply", trunks, "--yes", **SECRETS)
    trunks.write_text(
        TRUNKS.replace('["+15550100", "+15550101"]', '["1000", "+15550101"]').replace(
            'numbers: ["1000"]', 'numbers: ["+15550100"]'
        )
    )
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert result.exit_code == 0, result.output
    inbound, _ = stored(phone_server)
    assert list(inbound["main"].numbers) == ["1000", "+15550101"]
    assert list(inbound["desk"].numbers) == ["+15550100"]


def test_two_things_of_one_name_are_not_guessed_at(phone_server: PhoneServer, trunks: Path) -> None:
    numbers = ("+15550110", "+15550111")
    store(phone_server, *(SIPInboundTrunkInfo(name="main", numbers=[n]) for n in numbers))
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert result.exit_code == 2
    assert "two inbound trunks named 'main'" in result.output


def test_a_conflict_with_somebody_elses_trunk_is_told(
    phone_server: PhoneServer, trunks: Path
) -> None:
    store(phone_server, SIPInboundTrunkInfo(name="elsewhere", numbers=["+15550100"]))
    result = phone_server.parley("apply", trunks, "--yes", **SECRETS)
    assert result.exit_code == 1
    assert "refuses: Conflicting inbound SIP Trunks" in result.output
    inbound, rules = stored(phone_server)
    assert set(inbound) == {"elsewhere", "desk"}
    assert not rules
