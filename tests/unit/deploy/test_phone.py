"""The telephone's overlay says what `make run PHONE=1` says."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr

from tests.unit.deploy.compose_files import interpolated, load, system
from tests.unit.deploy.test_compose import ENVIRONMENT
from tests.unit.deploy.test_configs import LIVEKIT
from voice_agent.stack import redis_server, sip_server
from voice_agent.stack.settings import RunSettings, media_ports

SERVICES = system("phone", ENVIRONMENT)["services"]
SIP = SERVICES["sip"]


def sip_config(environment: dict[str, str]) -> dict[str, Any]:
    """livekit-sip's configuration, as it reads it."""
    service = interpolated(load("compose.phone.yaml")["services"]["sip"], environment)
    config: dict[str, Any] = yaml.safe_load(service["environment"]["SIP_CONFIG_BODY"])
    return config


@pytest.fixture
def beside(tmp_path: Path) -> dict[str, Any]:
    """The configuration that `parley run` writes."""
    settings = RunSettings(_env_file=None)
    path = sip_server.write_sip_config(
        tmp_path,
        livekit_url="ws://livekit:7880",
        api_key="key",
        api_secret=SecretStr("s" * 40),
        redis=redis_server.RedisAddress(6379, "password"),
        port=5060,
        listen="0.0.0.0",
        address=ENVIRONMENT["PARLEY_NODE_IP"],
        rtp_ports=settings.sip_rtp_ports,
        first_sound_s=settings.sip_first_sound_s,
        sound_gone_s=settings.sip_sound_gone_s,
    )
    config: dict[str, Any] = yaml.safe_load(path.read_text())
    return config


def test_the_programs_are_those_of_make_run() -> None:
    assert (
        SIP["image"] == f"livekit/sip:v{sip_server.PINNED_VERSION}" == sip_server.LIVEKIT_SIP.image
    )
    assert SERVICES["redis"]["image"] == redis_server.REDIS.image


def test_livekit_sip_is_told_what_it_is_told_by_make_run(beside: dict[str, Any]) -> None:
    here = sip_config(ENVIRONMENT)
    elsewhere = {"api_key", "api_secret", "ws_url"}
    here_alone = {"health_port"}
    # Nobody can reach the container's address but by the ports that are published.
    there_alone = {"listen_ip"}
    assert here.keys() - here_alone == beside.keys() - elsewhere - there_alone
    for name in here.keys() - here_alone - {"redis", "logging"}:
        assert here[name] == beside[name], name
    assert here["logging"]["level"] == beside["logging"]["level"]
    environment = SIP["environment"]
    assert environment["LIVEKIT_WS_URL"] == f"ws://livekit:{LIVEKIT['port']}"
    assert environment["LIVEKIT_API_KEY"] == ENVIRONMENT["LIVEKIT_API_KEY"]
    assert environment["LIVEKIT_API_SECRET"] == ENVIRONMENT["LIVEKIT_API_SECRET"]
    assert sip_server.SOUND_VARIABLES.items() <= environment.items()


def test_both_servers_share_one_redis_and_its_password() -> None:
    redis = sip_config({**ENVIRONMENT, "REDIS_PASSWORD": "1" * 40})["redis"]
    assert redis == {"address": LIVEKIT["redis"]["address"], "password": "1" * 40}
    for name in ("livekit", "sip", "redis"):
        assert "calls" in SERVICES[name]["networks"]


def test_trunks_outlive_a_restart() -> None:
    redis = SERVICES["redis"]
    folder = redis["volumes"][0].partition(":")[2]
    command = redis["command"][-1]
    assert f"--dir {folder}" in command
    for option in ("--appendonly yes", "--maxmemory-policy noeviction", "--requirepass"):
        assert option in command
    assert redis["user"] != "0:0"


@pytest.mark.parametrize("ports", ["", "30000-30127"])
def test_what_livekit_sip_listens_on_is_published(ports: str) -> None:
    environment = {**ENVIRONMENT, "PARLEY_SIP_RTP_PORTS": ports}
    config = sip_config(environment)
    published = interpolated(load("compose.phone.yaml")["services"]["sip"]["ports"], environment)
    port, sound = config["sip_port"], config["rtp_port"]
    assert published == [f"{port}:{port}", f"{port}:{port}/udp", f"{sound}:{sound}/udp"]
    assert media_ports(sound)


def test_its_health_is_asked_where_it_is_answered() -> None:
    port = sip_config(ENVIRONMENT)["health_port"]
    assert f"/dev/tcp/127.0.0.1/{port} " in SIP["healthcheck"]["test"][-1]
    assert not any(re.search(rf"\b{port}\b", published) for published in SIP["ports"])


def test_only_livekit_sip_has_the_way_out_to_providers() -> None:
    on_it = {name for name, service in SERVICES.items() if "phone" in service["networks"]}
    assert on_it == {"sip"}
    assert "edge" not in SIP["networks"], "the token server believes what comes from there"
