import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic_settings import BaseSettings

from language_server.settings import LanguageServerSettings
from speech_server.settings import SpeechServerSettings
from tests.unit.deploy import json_schema
from tests.unit.deploy.compose_files import (
    DEPLOY,
    FILES,
    LAYOUTS,
    Missing,
    interpolated,
    load,
    system,
    variables,
)
from voice_agent.settings import AgentSettings, TokenServerSettings
from voice_agent.token_server.app import check_settings

SCHEMA = json.loads((Path(__file__).parent / "compose_spec" / "compose-spec.json").read_text())
SECRETS = (
    "LIVEKIT_API_KEY",
    "LIVEKIT_API_SECRET",
    "PARLEY_TOKEN_AUTH_SECRET",
    "PARLEY_SPEECH_API_KEY",
    "PARLEY_LANGUAGE_API_KEY",
    "REDIS_PASSWORD",
    "GRAFANA_PASSWORD",
)
ENVIRONMENT = {
    **{name: f"{name.lower()}-0123456789abcdef0123456789" for name in SECRETS},
    "PARLEY_HOST": "calls.example.com",
    "PARLEY_NODE_IP": "203.0.113.7",
    "PARLEY_MODELS_DIR": "/srv/models",
    "PARLEY_LLM_MODEL": "qwen3-8b",
    "PARLEY_STT_GPU": "0",
    "PARLEY_MODELS_GPU": "1",
}
READS: dict[str, type[BaseSettings]] = {
    "voice_agent.token_server": TokenServerSettings,
    "/opt/agent/agent.py": AgentSettings,
    "speech_server": SpeechServerSettings,
    "language_server": LanguageServerSettings,
}
"""Program → the class that reads its environment."""
PORTS = {
    "voice_agent.token_server": 8080,
    "/opt/agent/agent.py": 8081,
    "speech_server": 8090,
    "language_server": 8091,
}

layouts = pytest.mark.parametrize("layout", LAYOUTS)


def program(service: dict[str, Any]) -> str | None:
    """Which of our programs a service runs."""
    return next((part for part in service.get("command", ()) if part in READS), None)


def ours(layout: str) -> dict[str, dict[str, Any]]:
    services = system(layout, ENVIRONMENT)["services"]
    return {name: service for name, service in services.items() if program(service)}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_what_the_specification_says(name: str) -> None:
    assert json_schema.faults(load(name), SCHEMA) == []


@layouts
def test_a_layout_is_what_the_specification_says(layout: str) -> None:
    assert json_schema.faults(system(layout, ENVIRONMENT), SCHEMA) == []


def test_the_specification_is_really_looked_at() -> None:
    broken = {"services": {"web": {"imaeg": "x", "ports": [{"target": []}], "restart": 5}}}
    places = {fault.partition(":")[0] for fault in json_schema.faults(broken, SCHEMA)}
    assert places >= {"/services/web", "/services/web/restart"}


@layouts
def test_what_is_named_exists(layout: str) -> None:
    whole = system(layout, ENVIRONMENT)
    for name, service in whole["services"].items():
        assert set(service.get("depends_on", ())) <= whole["services"].keys(), name
        assert set(service["networks"]) <= whole["networks"].keys(), name
        for volume in service.get("volumes", ()):
            if isinstance(volume, dict):
                assert volume["read_only"], f"{name}: weights are not to be written"
                continue
            source = volume.partition(":")[0]
            if source.startswith("./"):
                # The dashboards are mounted as a folder, which may be empty.
                assert (DEPLOY / source).exists() or source == "./grafana", f"{name}: {source}"
            else:
                assert source in whole["volumes"], f"{name}: {source}"


@pytest.mark.parametrize("name", FILES)
def test_no_secret_has_a_default(name: str) -> None:
    for found in variables(name):
        if found["name"] in SECRETS:
            assert found["how"] == ":?", found[0]
            assert ".env" in found["what"], f"{found[0]} does not say where to set it"
    text = (DEPLOY / name).read_text()
    assert not re.search(r"(?i)(password|secret|_key): (?!\"?\$|\*|&[\w-]+ \$)\S", text)


@pytest.mark.parametrize("missing", [*SECRETS, "PARLEY_HOST", "PARLEY_NODE_IP"])
def test_nothing_starts_without(missing: str) -> None:
    environment = {**ENVIRONMENT, missing: ""}
    with pytest.raises(
        Missing, match=f"{missing} is missing a value: set {missing} in deploy/.env"
    ):
        system("built-in", environment)


def test_the_example_names_every_variable_and_holds_no_secret() -> None:
    lines = (DEPLOY / ".env.example").read_text().splitlines()
    example = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    used = {found["name"] for name in FILES for found in variables(name)}
    assert example.keys() - {"COMPOSE_FILE"} == used
    assert not any(example[name] for name in SECRETS)
    for found in (found for name in FILES for found in variables(name)):
        if found["how"] == ":-" and example[found["name"]]:
            assert example[found["name"]] == found["what"], found[0]


@layouts
def test_every_setting_exists_and_is_understood(
    layout: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, service in ours(layout).items():
        kind = READS[program(service) or ""]
        given = {k: str(v) for k, v in service["environment"].items() if k.startswith("PARLEY_")}
        known = {f"PARLEY_{field.upper()}" for field in kind.model_fields}
        assert given.keys() <= known, f"{name}: {given.keys() - known} is no setting of {kind}"
        with monkeypatch.context() as patch:
            for variable, value in given.items():
                patch.setenv(variable, value)
            settings = kind(_env_file=None)
        if isinstance(settings, TokenServerSettings):
            check_settings(settings)


@layouts
def test_who_calls_whom(layout: str) -> None:
    services = ours(layout)
    agent = services["agent"]["environment"]
    for setting in ("PARLEY_STT_URL", "PARLEY_TTS_URL", "PARLEY_LLM_URL"):
        found = re.fullmatch(r"http://(\w+):(\d+)(/v1)?", agent[setting])
        assert found is not None
        called = services[found[1]]
        assert int(found[2]) == PORTS[program(called) or ""]
        assert set(called["networks"]) & set(services["agent"]["networks"])
        assert found[1] in services["agent"]["depends_on"]
    assert "stt" in services["stt"]["environment"]["PARLEY_SPEECH_ROLES"]
    assert "tts" in services["voice"]["environment"]["PARLEY_SPEECH_ROLES"]
    for name in ("stt", "voice"):
        key = services[name]["environment"]["PARLEY_SPEECH_API_KEY"]
        assert agent["PARLEY_SPEECH_API_KEY"] == key
    language = services["language"]["environment"]
    assert agent["PARLEY_LLM_API_KEY"] == language["PARLEY_LANGUAGE_API_KEY"]
    asked_for = language.get("PARLEY_LANGUAGE_MODEL_NAME", "qwen3-8b")
    assert agent["PARLEY_LLM_MODEL"] == asked_for


@layouts
def test_health_is_asked_where_it_is_answered(layout: str) -> None:
    services = system(layout, ENVIRONMENT)["services"]
    assert all("test" in service["healthcheck"] for service in services.values())
    for name, service in ours(layout).items():
        kind = program(service) or ""
        asked = f"http://127.0.0.1:{PORTS[kind]}"
        path = {"voice_agent.token_server": "/health", "/opt/agent/agent.py": "/"}.get(
            kind, "/ready"
        )
        assert f"'{asked}{path}'" in " ".join(service["healthcheck"]["test"]), name
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] == "service_healthy", f"{name} → {other}"


@layouts
def test_nothing_is_more_open_than_it_must_be(layout: str) -> None:
    whole = system(layout, ENVIRONMENT)
    services = whole["services"]
    published = {
        name: [str(port) for port in service["ports"]]
        for name, service in services.items()
        if "ports" in service
    }
    public = {n for n, ports in published.items() if not all("127.0.0.1:" in p for p in ports)}
    assert public == {"proxy", "livekit", *({"sip"} & services.keys())}
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["deploy"]["resources"]["limits"].keys() == {"cpus", "memory", "pids"}, name
        assert "privileged" not in service, name
    for name in ("models", "calls"):
        assert whole["networks"][name] == {"internal": True}
    for name in ("stt", "voice", "language"):
        assert set(services[name]["networks"]) == {"models"}


@layouts
def test_every_image_is_pinned_by_tag(layout: str) -> None:
    for name, service in system(layout, ENVIRONMENT)["services"].items():
        if "build" not in service:
            assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+[\w.-]*", service["image"]), name


@pytest.mark.parametrize(
    ("layout", "gpus"),
    [
        ("h100", {"stt": "0", "voice": "0", "language": "0"}),
        ("a10-h100", {"stt": "0", "voice": "1", "language": "1"}),
    ],
)
def test_who_has_which_gpu(layout: str, gpus: dict[str, str]) -> None:
    services = system(layout, ENVIRONMENT)["services"]
    devices = {
        name: [
            device
            for device in service["deploy"]["resources"].get("reservations", {}).get("devices", ())
        ]
        for name, service in services.items()
    }
    held = {name: found[0]["device_ids"][0] for name, found in devices.items() if found}
    assert held == gpus
    # Two copies of vLLM on one GPU: their shares fit, and they load one after the other.
    voice, language = services["voice"]["environment"], services["language"]["environment"]
    shares = (voice["PARLEY_TTS_MEMORY_SHARE"], language["PARLEY_LANGUAGE_MEMORY_SHARE"])
    assert sum(map(float, shares)) <= 0.9
    assert services["language"]["depends_on"]["voice"]["condition"] == "service_healthy"


def test_a_secret_that_reads_as_a_number_reaches_livekit_server_as_text() -> None:
    environment = {**ENVIRONMENT, "LIVEKIT_API_SECRET": "1" * 40}
    livekit = interpolated(load("compose.yaml")["services"]["livekit"], environment)
    keys = yaml.safe_load(livekit["environment"]["LIVEKIT_KEYS"])
    assert keys == {ENVIRONMENT["LIVEKIT_API_KEY"]: "1" * 40}
