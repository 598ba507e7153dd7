"""Who may ask for a token."""

import time
from typing import Any

import jwt
import pytest
from fastapi.testclient import TestClient

from tests.unit.voice_agent.token_server.served import CALLER_SECRET, SECRET, MakeClient, message_of


class TestOrigins:
    def test_own_page_may_ask(self, client: TestClient) -> None:
        headers = {"Origin": "http://127.0.0.1:8080"}
        assert client.post("/api/token", json={}, headers=headers).status_code == 201

    @pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:9999"])
    def test_other_sites_may_not(self, client: TestClient, origin: str) -> None:
        answer = client.post("/api/token", json={}, headers={"Origin": origin})
        assert "PARLEY_WEB_ALLOWED_ORIGINS" in message_of(answer, 403)
        assert "access-control-allow-origin" not in answer.headers

    def test_listed_site_may_and_reads_the_answer(self, make_client: MakeClient) -> None:
        client = make_client(web_allowed_origins="https://site.example")
        headers = {"Origin": "https://site.example"}
        answer = client.post("/api/token", json={}, headers=headers)
        assert answer.status_code == 201
        assert answer.headers["access-control-allow-origin"] == "https://site.example"

    @pytest.mark.parametrize("host", ["rebound.example:8080", "", "[::", "127.0.0.1.evil.example"])
    def test_loopback_server_goes_by_its_own_names_only(
        self, client: TestClient, host: str
    ) -> None:
        message_of(client.post("/api/token", json={}, headers={"Host": host}), 403)
        message_of(client.get("/api/info", headers={"Host": host}), 403)

    @pytest.mark.parametrize("host", ["localhost:9000", "[::1]:8080", "127.0.0.1"])
    def test_forwarded_ports_are_fine(self, client: TestClient, host: str) -> None:
        answer = client.post("/api/token", json={}, headers={"Host": host})
        assert answer.status_code == 201

    def test_name_of_a_listed_site_is_ours_too(self, make_client: MakeClient) -> None:
        client = make_client(web_allowed_origins="https://calls.example")
        headers = {"Host": "calls.example", "Origin": "https://calls.example"}
        assert client.post("/api/token", json={}, headers=headers).status_code == 201


def caller_jwt(secret: str = CALLER_SECRET, **claims: Any) -> dict[str, str]:
    token = jwt.encode({"exp": time.time() + 60, **claims}, secret, algorithm="HS256")
    return {"Authorization": f"Bearer {token}"}


class TestCallerAuthentication:
    @pytest.fixture
    def guarded(self, make_client: MakeClient) -> TestClient:
        return make_client(token_auth_secret=CALLER_SECRET)

    def test_lets_a_vouched_caller_in(self, guarded: TestClient) -> None:
        assert guarded.post("/api/token", json={}, headers=caller_jwt()).status_code == 201

    def test_page_learns_that_a_token_is_needed(self, guarded: TestClient) -> None:
        assert guarded.get("/api/info").json()["auth_required"] is True

    @pytest.mark.parametrize(
        ("headers", "message"),
        [
            ({}, "callers here need a token"),
            ({"Authorization": "Basic YTpi"}, "callers here need a token"),
            ({"Authorization": "Bearer"}, "callers here need a token"),
            ({"Authorization": "Bearer nonsense"}, "not valid here"),
            (caller_jwt(SECRET), "not valid here"),
            (caller_jwt(exp=time.time() - 60), "has expired"),
            (
                {"Authorization": f"Bearer {jwt.encode({}, CALLER_SECRET, algorithm='HS256')}"},
                "no expiry",
            ),
            (
                {"Authorization": f"Bearer {jwt.encode({'exp': 9e9}, None, algorithm='none')}"},
                "not valid here",
            ),
        ],
        ids=["none", "basic", "empty", "nonsense", "other-key", "expired", "no-exp", "alg-none"],
    )
    def test_keeps_others_out(
        self, guarded: TestClient, headers: dict[str, str], message: str
    ) -> None:
        answer = guarded.post("/api/token", json={}, headers=headers)
        assert message in message_of(answer, 401)
