from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from tests.unit.voice_agent.token_server.served import MakeClient, settings
from voice_agent.personas import BUILT_IN
from voice_agent.token_server.app import create_app


@pytest.fixture
def make_client(tmp_path: Path) -> MakeClient:
    built_in = (BUILT_IN / "front_desk.yaml").read_text()
    night_line = built_in.replace("name: front_desk", "name: night_line", 1)
    (tmp_path / "night_line.yaml").write_text(night_line)

    def make(static: Path = tmp_path / "absent", **overrides: Any) -> TestClient:
        overrides.setdefault("personas_dir", tmp_path)
        app = create_app(settings(**overrides), static)
        return TestClient(app, base_url="http://127.0.0.1:8080")

    return make


@pytest.fixture
def client(make_client: MakeClient) -> TestClient:
    return make_client()
