import re
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml
from pydantic import SecretStr
from starlette.testclient import TestClient
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from language_server.settings import LanguageServerSettings
from speech_server.settings import SpeechServerSettings
from tests.unit.deploy.compose_files import DEPLOY, system
from tests.unit.deploy.test_compose import ENVIRONMENT
from voice_agent.settings import AgentSettings
from voice_agent.stack.livekit_server import PINNED_VERSION, write_config

SERVICES = system("built-in", ENVIRONMENT)["services"]
LIVEKIT = yaml.safe_load((DEPLOY / "livekit.yaml").read_text())
CADDYFILE = (DEPLOY / "Caddyfile").read_text()


def test_livekit_server_is_the_one_of_make_run() -> None:
    assert SERVICES["livekit"]["image"].endswith(f":v{PINNED_VERSION}")


def test_media_is_published_where_livekit_server_listens() -> None:
    rtc = LIVEKIT["rtc"]
    # Left out, the TCP port is 7881 all the same.
    assert SERVICES["livekit"]["ports"] == [
        f"{rtc['tcp_port']}:{rtc['tcp_port']}",
        f"{rtc['udp_port']}:{rtc['udp_port']}/udp",
    ]
    assert rtc["use_external_ip"] is False
    assert all(server.startswith("127.0.0.1:") for server in rtc["stun_servers"])


def test_callers_are_bounded_as_with_make_run(tmp_path: Path) -> None:
    local = write_config(
        tmp_path, port=7880, udp_port=7882, api_key="key", api_secret=SecretStr("s" * 40)
    )
    beside = yaml.safe_load(local.read_text())
    assert LIVEKIT["room"] == beside["room"]
    assert LIVEKIT["limit"] == beside["limit"]
    assert "keys" not in LIVEKIT
    assert "password" not in LIVEKIT["redis"]


def test_the_proxy_leads_to_who_listens() -> None:
    led_to = dict(re.findall(r"reverse_proxy (\w+):(\d+)", CADDYFILE))
    assert led_to == {"livekit": str(LIVEKIT["port"]), "web": "8080"}
    for name in led_to:
        assert set(SERVICES[name]["networks"]) & set(SERVICES["proxy"]["networks"])
    # Nothing but signalling: the room API and the workers' entrance are not for the internet.
    assert re.findall(r"handle (/\S+)", CADDYFILE) == ["/rtc*"]
    assert "admin off" in CADDYFILE
    health = urlsplit(SERVICES["proxy"]["healthcheck"]["test"][-1])
    assert f"http://{health.netloc} {{" in CADDYFILE


async def test_the_token_server_believes_the_proxy_and_nobody_else() -> None:
    trusted = SERVICES["web"]["environment"]["PARLEY_WEB_TRUSTED_PROXIES"]
    assert str(ip_network(trusted)) == trusted
    seen: list[str] = []

    async def app(scope, receive, send):  # type: ignore[no-untyped-def]
        seen.append(scope["client"][0])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    wrapped = ProxyHeadersMiddleware(app, trusted_hosts=[trusted])
    for peer in ("172.30.30.4", "172.31.0.4"):
        client = TestClient(wrapped, client=(peer, 1234))
        client.get("/", headers={"X-Forwarded-For": "198.51.100.9"})
    assert seen == ["198.51.100.9", "172.31.0.4"]


def test_prometheus_asks_who_answers() -> None:
    jobs = yaml.safe_load((DEPLOY / "monitoring/prometheus.yml").read_text())["scrape_configs"]
    asked = {
        target for job in jobs for group in job["static_configs"] for target in group["targets"]
    }
    worker = AgentSettings.model_fields["worker_metrics_port"].default
    speech = SpeechServerSettings.model_fields["speech_port"].default
    language = LanguageServerSettings.model_fields["language_port"].default
    assert asked == {
        f"agent:{worker}",
        f"stt:{speech}",
        f"voice:{speech}",
        f"language:{language}",
        f"livekit:{LIVEKIT['prometheus']['port']}",
    }
    for target in asked:
        service = SERVICES[target.partition(":")[0]]
        assert set(service["networks"]) & set(SERVICES["prometheus"]["networks"])


def test_grafana_asks_prometheus_and_shows_the_dashboards() -> None:
    (source,) = yaml.safe_load((DEPLOY / "monitoring/datasource.yaml").read_text())["datasources"]
    assert source["url"] == "http://prometheus:9090"
    (provider,) = yaml.safe_load((DEPLOY / "monitoring/dashboards.yaml").read_text())["providers"]
    mounts = SERVICES["grafana"]["volumes"]
    assert f"./grafana:{provider['options']['path']}:ro" in mounts


@pytest.mark.parametrize("name", ["livekit.yaml", "monitoring/prometheus.yml"])
def test_a_configuration_holds_no_secret(name: str) -> None:
    assert not re.search(r"(?i)(secret|password|token)\w*:\s*\S", (DEPLOY / name).read_text())
