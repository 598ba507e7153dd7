"""What `parley phone` says when LiveKit, its Redis, its key or its bridge is amiss."""

import asyncio
import json
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from livekit import api
from livekit.protocol.room import CreateRoomRequest, ListRoomsRequest
from livekit.protocol.sip import SIPInboundTrunkInfo

from tests.contract.phone.conftest import PhoneServer
from voice_agent.opening_hours import WEEKDAYS
from voice_agent.stack.ports import PortWish, settle_ports

TRUNKS = """\
inbound:
  main: {numbers: ["+15550100"], allowed_addresses: [192.0.2.0/24]}
outbound:
  carrier: {address: 127.0.0.1:9, numbers: ["+15550100"]}
rules:
  desk: {trunks: [main], persona: front_desk}
"""


@pytest.fixture
def trunks(tmp_path: Path) -> Path:
    path = tmp_path / "trunks.yaml"
    path.write_text(TRUNKS)
    return path


async def rooms(server: PhoneServer) -> list[str]:
    async with server.client() as client:
        return [room.name for room in (await client.room.list_rooms(ListRoomsRequest())).rooms]


async def make_room(server: PhoneServer, name: str) -> None:
    async with server.client() as client:
        await client.room.create_room(CreateRoomRequest(name=name))


async def make_trunk(server: PhoneServer, trunk: SIPInboundTrunkInfo) -> None:
    async with server.client() as client:
        await client.sip.create_inbound_trunk(api.CreateSIPInboundTrunkRequest(trunk=trunk))


def test_a_server_that_is_not_there(phone_server: PhoneServer, trunks: Path) -> None:
    port = settle_ports([PortWish("nobody", "port", 0)])["port"]
    for command in (("apply", trunks), ("list",), ("hangup", "x")):
        result = phone_server.parley(*command, LIVEKIT_URL=f"ws://127.0.0.1:{port}")
        assert result.exit_code == 1
        assert f"LiveKit at 127.0.0.1:{port} cannot be reached" in result.output
        assert len(result.output.splitlines()) == 2


def test_a_wrong_key_is_told_and_not_shown(phone_server: PhoneServer) -> None:
    wrong = "a-wrong-secret-of-more-than-32-characters"
    result = phone_server.parley("list", LIVEKIT_API_SECRET=wrong)
    assert result.exit_code == 1
    assert "refuses the API key" in result.output
    assert wrong not in result.output


def test_no_key_at_all(phone_server: PhoneServer, tmp_path: Path) -> None:
    result = phone_server.parley(
        "list", LIVEKIT_API_KEY="", LIVEKIT_API_SECRET="", PARLEY_HOME=str(tmp_path)
    )
    assert (result.exit_code, "there is no LiveKit key" in result.output) == (2, True)


@pytest.mark.parametrize(
    "url", ["127.0.0.1:7880", "ftp://host", "ws://", "ws://host:99999", "ws://["]
)
def test_an_address_that_is_none(phone_server: PhoneServer, url: str) -> None:
    result = phone_server.parley("list", LIVEKIT_URL=url)
    assert (result.exit_code, "is no address of a LiveKit server" in result.output) == (2, True)


def test_what_answers_is_not_livekit(phone_server: PhoneServer) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"ws://127.0.0.1:{server.server_port}"
        result = phone_server.parley("list", LIVEKIT_URL=url)
        server.shutdown()
    assert (result.exit_code, "is not LiveKit" in result.output) == (1, True)


def test_a_server_without_redis(server_without_redis: PhoneServer, trunks: Path) -> None:
    result = server_without_redis.parley("apply", trunks, "--yes")
    assert result.exit_code == 1
    assert "runs without Redis, which telephone calls need" in result.output


def test_a_call_without_a_bridge_leaves_no_room(phone_server: PhoneServer, trunks: Path) -> None:
    phone_server.parley("apply", trunks, "--yes")
    result = phone_server.parley("call", "+15550142", "--persona", "front_desk")
    assert result.exit_code == 1
    assert "no telephone bridge (livekit-sip) is connected" in result.output
    assert "+15550142" not in result.output
    assert asyncio.run(rooms(phone_server)) == []


def test_a_campaign_without_a_bridge_stops_and_burns_nobody(
    phone_server: PhoneServer, trunks: Path, tmp_path: Path
) -> None:
    phone_server.parley("apply", trunks, "--yes")
    calls, listed, rules = (tmp_path / name for name in ("calls.csv", "no.txt", "rules.yaml"))
    calls.write_text("number,consent\n+15550142,yes\n+15550143,yes\n")
    listed.write_text("")
    days = [day.lower() for day in WEEKDAYS]
    hours = "\n".join(f"  {day}: 08:00-20:00" for day in days)
    rules.write_text(f"timezone: Etc/GMT{datetime.now(UTC).hour - 12:+d}\nhours:\n{hours}\n")
    result = phone_server.parley(
        "campaign", calls, "--persona", "front_desk", "--do-not-call", listed, "--rules", rules
    )
    assert result.exit_code == 1
    assert "no telephone bridge" in result.output
    assert "2 people agreed" in result.output
    again = phone_server.parley(
        "campaign", calls, "--persona", "front_desk", "--do-not-call", listed, "--rules", rules,
        "--dry-run",
    )  # fmt: skip
    assert "The first call would begin now." in again.output


def test_calls_need_a_trunk_that_exists(phone_server: PhoneServer, trunks: Path) -> None:
    arguments = ("call", "+15550142", "--persona", "front_desk")
    none = phone_server.parley(*arguments)
    assert (none.exit_code, "there is no outbound trunk" in none.output) == (2, True)
    phone_server.parley("apply", trunks, "--yes")
    other = phone_server.parley(*arguments, "--trunk", "other")
    assert (other.exit_code, "there are: carrier" in other.output) == (2, True)


def test_hangup_ends_telephone_calls_only(phone_server: PhoneServer) -> None:
    asyncio.run(make_room(phone_server, "browser-call"))
    result = phone_server.parley("hangup", "browser-call")
    assert (result.exit_code, "no telephone call in room" in result.output) == (2, True)
    assert asyncio.run(rooms(phone_server)) == ["browser-call"]


def test_doctor_names_what_is_missing(phone_server: PhoneServer, trunks: Path) -> None:
    phone_server.parley("apply", trunks, "--yes")
    port = settle_ports([PortWish("nobody", "port", 0)])["port"]
    result = phone_server.parley(
        "doctor", "--json", "--sip", f"127.0.0.1:{port}", PARLEY_WORKER_PORT=str(port)
    )
    assert result.exit_code == 1
    checks = {check["subject"]: check for check in json.loads(result.output)["checks"]}
    assert checks[f"signalling 127.0.0.1:{port}"]["status"] == "problem"
    assert checks["LiveKit and Redis"]["status"] == "ok"
    assert checks["inbound trunk main"]["status"] == "note"
    assert "by their address only" in checks["inbound trunk main"]["detail"]
    assert checks["rule desk"]["status"] == "ok"
    assert checks["provider 127.0.0.1:9"]["status"] == "note"
    assert checks["worker parley"]["status"] == "note"


def test_doctor_finds_an_open_trunk_and_a_foreign_agent(
    phone_server: PhoneServer, trunks: Path
) -> None:
    phone_server.parley("apply", trunks, "--yes")
    asyncio.run(make_trunk(phone_server, SIPInboundTrunkInfo(name="open", numbers=["1000"])))
    result = phone_server.parley("doctor", PARLEY_AGENT_NAME="other")
    assert result.exit_code == 1
    assert "takes calls from everybody" in result.output
    assert "no rule says who answers" in result.output
    assert "asks for agent 'parley'; ours is 'other' (PARLEY_AGENT_NAME)" in result.output
