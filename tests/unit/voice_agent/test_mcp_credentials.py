"""A secret for an MCP server: from the environment alone, over TLS alone, into no log."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.mcp_weather import SECRET, VARIABLE, weather_persona
from voice_agent.mcp_credentials import (
    MAX_SECRET_CHARACTERS,
    CredentialError,
    McpCredential,
    credential_faults,
    keeps_secrets,
)
from voice_agent.personas import Persona, PersonaError
from voice_agent.tools import mcp_tools
from voice_agent.tools.mcp_tools import McpConnections

CREDENTIAL = {"variable": VARIABLE}


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(VARIABLE, SECRET)
    return SECRET


@pytest.fixture(autouse=True)
def no_env_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def persona(
    folder: Path,
    url: str = "https://weather.example/mcp",
    credential: object = CREDENTIAL,
) -> Persona:
    return weather_persona(folder, {"url": url, "credential": credential})


@pytest.mark.parametrize(
    ("fields", "header"),
    [
        ({}, {"Authorization": f"Bearer {SECRET}"}),
        ({"header": "authorization"}, {"authorization": f"Bearer {SECRET}"}),
        ({"scheme": "Token"}, {"Authorization": f"Token {SECRET}"}),
        ({"scheme": ""}, {"Authorization": SECRET}),
        ({"header": "X-Api-Key"}, {"X-Api-Key": SECRET}),
        ({"header": "X-Api-Key", "scheme": "Key"}, {"X-Api-Key": f"Key {SECRET}"}),
    ],
)
def test_the_header_holds_the_secret(
    fields: dict[str, str], header: dict[str, str], secret: str
) -> None:
    assert McpCredential(variable=VARIABLE, **fields).headers() == header


def test_an_env_file_will_do(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"{VARIABLE}=of-the-file\nANOTHER=thing\n")
    assert McpCredential(variable=VARIABLE).headers() == {"Authorization": "Bearer of-the-file"}


@pytest.mark.parametrize("value", [None, ""])
def test_a_variable_that_is_not_set_is_named(
    value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if value is not None:
        monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(CredentialError, match=rf"{VARIABLE} is not set; set it in the worker's"):
        McpCredential(variable=VARIABLE).headers()


@pytest.mark.parametrize(
    "value",
    [f"{SECRET}\n", f"{SECRET}\r\nX-Admin: 1", f" {SECRET}", f"{SECRET}é", SECRET + "\x7f"],
)
def test_a_secret_that_is_no_header_is_refused_without_telling_it(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(CredentialError, match=VARIABLE) as caught:
        McpCredential(variable=VARIABLE).headers()
    assert SECRET not in str(caught.value)


def test_a_secret_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "x" * (MAX_SECRET_CHARACTERS + 1))
    with pytest.raises(CredentialError, match="more than 4096 characters"):
        McpCredential(variable=VARIABLE).headers()


@pytest.mark.parametrize("variable", ["PARLEY_LLM_API_KEY", "HOME", "PARLEY_MCP_", "parley_mcp_x"])
def test_only_variables_made_for_it_can_be_named(variable: str) -> None:
    with pytest.raises(ValidationError, match="variable"):
        McpCredential(variable=variable)


@pytest.mark.parametrize("header", ["Host", "content-length", "Mcp-Session-Id", "X Y", "X:", ""])
def test_a_header_of_the_protocol_is_refused(header: str) -> None:
    with pytest.raises(ValidationError, match="header"):
        McpCredential(variable=VARIABLE, header=header)


@pytest.mark.parametrize(
    ("url", "keeps"),
    [
        ("https://weather.example/mcp", True),
        ("http://127.0.0.1:9000/mcp", True),
        ("http://127.8.8.8/mcp", True),
        ("http://[::1]:9000/mcp", True),
        ("http://localhost:9000/mcp", True),
        ("http://weather.example/mcp", False),
        ("http://10.0.0.7:9000/mcp", False),
        ("http://localhost.example/mcp", False),
        ("http://127.0.0.1.example/mcp", False),
    ],
)
def test_a_secret_travels_over_tls_or_not_at_all(url: str, keeps: bool, tmp_path: Path) -> None:
    assert keeps_secrets(url) is keeps
    if keeps:
        assert persona(tmp_path, url).mcp["weather"].url == url
    else:
        with pytest.raises(PersonaError, match="credential needs an https:// url, or a server on"):
            persona(tmp_path, url)


def test_a_secret_in_the_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match="no user name or password") as caught:
        persona(tmp_path, f"https://me:{SECRET}@weather.example/mcp")
    assert SECRET not in str(caught.value)


def test_a_secret_in_the_file_is_no_credential(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match=r"mcp\.weather\.credential") as caught:
        persona(tmp_path, credential=SECRET)
    assert SECRET not in str(caught.value)


def test_a_program_takes_no_credential(tmp_path: Path) -> None:
    with pytest.raises(PersonaError, match="credential is for a server with a url"):
        weather_persona(tmp_path, {"command": ["weather"], "credential": CREDENTIAL})


def test_faults_name_the_server_and_the_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = persona(tmp_path)
    assert list(credential_faults(house)) == [
        f"MCP server weather: {VARIABLE} is not set; set it in the worker's environment or in .env"
    ]
    monkeypatch.setenv(VARIABLE, SECRET)
    assert list(credential_faults(house)) == []


async def test_a_server_without_its_credential_is_left_out_and_never_asked(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mcp")
    asked: list[str] = []
    monkeypatch.setattr(mcp_tools, "_close", lambda *_: asked.append("close"))
    connections = McpConnections()
    assert await connections.connect(persona(tmp_path).mcp) == []
    await connections.aclose()
    assert asked == []
    (record,) = [one for one in caplog.records if one.message == "MCP server left out"]
    assert VARIABLE in record.__dict__["error"]
