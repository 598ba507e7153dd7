"""Tokens for calls: what they grant, and requests that get none."""

import json
from typing import Any

import jwt
import pytest
from fastapi.testclient import TestClient

from tests.unit.voice_agent.token_server.served import (
    KEY,
    SECRET,
    MakeClient,
    claims_of,
    message_of,
)
from voice_agent.token_server.app import MAX_BODY_BYTES
from voice_agent.token_server.rate_limit import network_of


class TestGrantedToken:
    def test_answers_in_the_names_of_the_contract(self, client: TestClient) -> None:
        answer = client.post("/api/token", json={})
        assert answer.status_code == 201
        assert answer.headers["cache-control"] == "no-store"
        body = answer.json()
        assert body["server_url"] == "ws://127.0.0.1:7880"
        assert claims_of(answer).video.room == body["room_name"]

    @pytest.mark.parametrize("body", [b"", b"{}", b'{"room_config": {}}'])
    def test_every_field_is_optional(self, client: TestClient, body: bytes) -> None:
        dispatch = claims_of(client.post("/api/token", content=body)).room_config.agents[0]
        assert dispatch.agent_name == "parley"
        assert json.loads(dispatch.metadata) == {"persona": "front_desk"}

    def test_grants_one_room_one_microphone_and_nothing_else(self, client: TestClient) -> None:
        video = claims_of(client.post("/api/token", json={})).video
        assert video.room_join
        assert video.can_subscribe
        assert video.can_publish_sources == ["microphone"]
        assert video.can_publish_data
        for right in (
            "can_update_own_metadata",
            "can_manage_agent_session",
            "room_create",
            "room_list",
            "room_admin",
            "room_record",
            "ingress_admin",
            "hidden",
            "agent",
        ):
            assert getattr(video, right) is False, right

    def test_room_and_identity_are_random(self, client: TestClient) -> None:
        first, second = (claims_of(client.post("/api/token", json={})) for _ in range(2))
        assert first.video.room != second.video.room
        assert first.identity != second.identity

    def test_token_lives_as_long_as_the_setting_says(self, make_client: MakeClient) -> None:
        answer = make_client(token_ttl_s=60).post("/api/token", json={})
        payload = jwt.decode(
            answer.json()["participant_token"], SECRET, algorithms=["HS256"], issuer=KEY
        )
        assert payload["exp"] - payload["nbf"] == 60

    def test_public_url_is_handed_out_where_set(self, make_client: MakeClient) -> None:
        client = make_client(web_livekit_url="wss://media.example")
        assert client.post("/api/token", json={}).json()["server_url"] == "wss://media.example"

    def test_takes_agent_persona_and_name_from_an_official_client(
        self, make_client: MakeClient
    ) -> None:
        client = make_client(web_allowed_personas="front_desk,night_line")
        answer = client.post(
            "/api/token",
            json={
                "participant_name": "Ada",
                "room_config": {
                    "agents": [{"agent_name": "parley", "metadata": '{"persona": "night_line"}'}]
                },
            },
        )
        claims = claims_of(answer)
        assert claims.name == "Ada"
        assert json.loads(claims.room_config.agents[0].metadata) == {"persona": "night_line"}

    def test_default_values_count_as_not_set(self, client: TestClient) -> None:
        body = {
            "room_name": "",
            "participant_identity": None,
            "participant_attributes": {},
            "room_config": {"name": "", "max_participants": 0, "tags": {}, "egress": None},
        }
        assert client.post("/api/token", json=body).status_code == 201


REFUSED = [
    ({"room_name": "my-room"}, "room_name: a caller may not set this"),
    ({"participant_identity": "admin"}, "participant_identity: a caller may not set this"),
    ({"participant_metadata": "x"}, "participant_metadata: a caller may not set this"),
    ({"participant_attributes": {"a": "b"}}, "participant_attributes: a caller may not"),
    ({"surprise": 1}, "surprise: a caller may not set this"),
    ({"participant_name": "x" * 65}, "participant_name: "),
    ({"participant_name": "a\nb"}, "participant_name: must be printable"),
    ({"participant_name": "   "}, "participant_name: must be printable"),
    ({"participant_name": 7}, "participant_name: "),
    ({"room_config": {"egress": {"room": {}}}}, "room_config.egress: a caller may not set this"),
    ({"room_config": {"metadata": "x"}}, "room_config.metadata: a caller may not set this"),
    ({"room_config": {"tags": {"a": "b"}}}, "room_config.tags: a caller may not set this"),
    ({"room_config": {"max_participants": 9}}, "room_config.max_participants: a caller may"),
    ({"room_config": []}, None),
    ({"room_config": [1]}, "room_config: "),
    ({"room_config": {"agents": {"agent_name": "parley"}}}, "room_config.agents: "),
    (
        {"room_config": {"agents": [{"agent_name": "parley"}, {"agent_name": "parley"}]}},
        "room_config.agents: a call has one agent",
    ),
    (
        {"room_config": {"agents": [{"agent_name": "other"}]}},
        "room_config.agents.0.agent_name: the agent here is 'parley'",
    ),
    (
        {"room_config": {"agents": [{"deployment": "staging"}]}},
        "room_config.agents.0.deployment: a caller may not set this",
    ),
    ({"room_config": {"agents": [{"metadata": "x" * 513}]}}, "room_config.agents.0.metadata: "),
    ({"room_config": {"agents": [{"metadata": "{"}]}}, "room_config.agents.0.metadata: "),
    ({"room_config": {"agents": [{"metadata": "[]"}]}}, "room_config.agents.0.metadata: "),
    (
        {"room_config": {"agents": [{"metadata": '{"persona":"front_desk","prompt":"hi"}'}]}},
        "room_config.agents.0.metadata.prompt: a caller may not set this",
    ),
    (
        {"room_config": {"agents": [{"metadata": '{"persona":"../../etc/passwd"}'}]}},
        "room_config.agents.0.metadata.persona: must be one of: front_desk",
    ),
]


class TestRefusedRequest:
    @pytest.mark.parametrize(("body", "message"), REFUSED)
    def test_names_the_field(
        self, client: TestClient, body: dict[str, Any], message: str | None
    ) -> None:
        answer = client.post("/api/token", json=body)
        if message is None:  # an empty value of any type is "not set"
            assert answer.status_code == 201
            return
        assert message_of(answer, 400).startswith(message)
        assert client.post("/api/token", json={}).status_code == 201

    @pytest.mark.parametrize(
        "body",
        [b"{", b"null", b"[]", b'"text"', b"\xff\xfe", b"[" * 8000, b'{"room_config": NaN}'],
        ids=["cut", "null", "list", "string", "bytes", "deep", "nan"],
    )
    def test_malformed_json(self, client: TestClient, body: bytes) -> None:
        assert "body" in message_of(client.post("/api/token", content=body), 400) or body == (
            b'{"room_config": NaN}'
        )
        assert client.post("/api/token", json={}).status_code == 201

    def test_never_repeats_what_was_sent(self, client: TestClient) -> None:
        answer = client.post("/api/token", json={"participant_name": ["<script>"]})
        assert "<script>" not in answer.text

    def test_oversized_body(self, client: TestClient) -> None:
        message_of(client.post("/api/token", content=b" " * (MAX_BODY_BYTES + 1)), 413)

    def test_oversized_body_of_undeclared_length(self, client: TestClient) -> None:
        chunks = (b" " * 1024 for _ in range(64))
        message_of(client.post("/api/token", content=chunks), 413)

    def test_wrong_method_and_path_answer_in_the_same_shape(self, client: TestClient) -> None:
        message_of(client.get("/api/token"), 405)
        message_of(client.get("/api/tokens"), 404)

    def test_rate_limit(self, make_client: MakeClient) -> None:
        client = make_client(token_rate="2/minute")
        assert [client.post("/api/token", json={}).status_code for _ in range(2)] == [201, 201]
        answer = client.post("/api/token", json={})
        assert "too many calls" in message_of(answer, 429)
        assert 1 <= int(answer.headers["retry-after"]) <= 60

    def test_rate_limit_counts_refused_requests(self, make_client: MakeClient) -> None:
        client = make_client(token_rate="1/minute")
        message_of(client.post("/api/token", content=b"{"), 400)
        message_of(client.post("/api/token", json={}), 429)

    @pytest.mark.parametrize(
        ("address", "network"),
        [
            ("192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
            ("::1", "::1"),
            ("testclient", "testclient"),
        ],
    )
    def test_addresses_that_count_as_one(self, address: str, network: str) -> None:
        assert network_of(address) == network
