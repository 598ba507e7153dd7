"""What a browser gets besides tokens: the page, and what it must know."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.unit.voice_agent.token_server.served import MakeClient
from voice_agent.token_server.page import content_security_policy


class TestInfo:
    def test_says_that_the_script_is_a_script(self, client: TestClient) -> None:
        body = client.get("/api/info").json()
        assert body["llm"]["kind"] == "script"
        assert "not from a language model" in body["llm"]["notice"]
        assert "PARLEY_LLM_URL" in body["llm"]["replacement"]
        assert body["agent_name"] == "parley"
        assert body["auth_required"] is False
        assert body["version"]

    def test_says_nothing_of_the_kind_about_a_model(self, make_client: MakeClient) -> None:
        body = make_client(llm_model="qwen3:8b").get("/api/info").json()
        assert body["llm"] == {
            "kind": "model",
            "name": "qwen3:8b",
            "notice": None,
            "replacement": None,
        }

    def test_introduces_the_persona(self, client: TestClient) -> None:
        persona = client.get("/api/info").json()["persona"]
        assert persona["name"] == "front_desk"
        assert persona["title"] == "Front desk"
        assert persona["disclosure"] in persona["greeting"]

    def test_keeps_the_model_servers_address(self, make_client: MakeClient) -> None:
        answer = make_client(llm_url="http://gpu-7.internal:8000/v1").get("/api/info")
        assert "gpu-7" not in answer.text

    def test_health(self, client: TestClient) -> None:
        assert client.get("/health").json() == {"status": "ok"}


class TestPage:
    @pytest.fixture
    def built(self, tmp_path: Path) -> Path:
        (tmp_path / "assets").mkdir()
        (tmp_path / "index.html").write_text("<!doctype html><title>Parley</title>")
        (tmp_path / "assets" / "main-1a2b.js").write_text("export {}")
        (tmp_path.parent / "outside.txt").write_text("private")
        return tmp_path

    def test_says_how_to_build_it(self, client: TestClient) -> None:
        answer = client.get("/")
        assert answer.status_code == 503
        assert "npm run build" in answer.text

    def test_is_found_as_soon_as_it_is_built(self, client: TestClient, tmp_path: Path) -> None:
        assert client.get("/").status_code == 503
        (tmp_path / "absent").mkdir()
        (tmp_path / "absent" / "index.html").write_text("here")
        assert client.get("/").text == "here"

    def test_serves_page_and_files(self, make_client: MakeClient, built: Path) -> None:
        client = make_client(built)
        page = client.get("/")
        assert "<title>Parley" in page.text
        assert page.headers["cache-control"] == "no-cache"
        script = client.get("/assets/main-1a2b.js")
        assert "immutable" in script.headers["cache-control"]
        assert "javascript" in script.headers["content-type"]

    @pytest.mark.parametrize(
        "path", ["/../outside.txt", "/..%2foutside.txt", "/assets/..%2f..%2foutside.txt", "/none"]
    )
    def test_serves_nothing_else(self, make_client: MakeClient, built: Path, path: str) -> None:
        answer = make_client(built).get(path)
        assert answer.status_code == 404
        assert "private" not in answer.text

    @pytest.mark.parametrize("path", ["/", "/health", "/api/info", "/none", "/assets/main-1a2b.js"])
    def test_every_answer_is_dressed(self, make_client: MakeClient, built: Path, path: str) -> None:
        headers = make_client(built).get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "camera=()" in headers["permissions-policy"]

    def test_policy_lets_the_page_reach_livekit_and_nothing_else(self) -> None:
        policy = content_security_policy("wss://media.example:443/path")
        connect = next(part for part in policy.split("; ") if part.startswith("connect-src"))
        assert connect == "connect-src 'self' wss://media.example:443 https://media.example:443"
        assert "*" not in policy
        assert "unsafe" not in policy
