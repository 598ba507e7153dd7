"""Settings with which the token server does not start."""

from typing import Any

import pytest

from tests.unit.voice_agent.token_server.served import CALLER_SECRET, settings
from voice_agent.token_server.app import create_app
from voice_agent.token_server.errors import ConfigurationError


class TestRefusedSettings:
    @pytest.mark.parametrize(
        ("overrides", "named"),
        [
            ({"livekit_api_key": ""}, "LIVEKIT_API_KEY"),
            ({"livekit_api_secret": ""}, "LIVEKIT_API_SECRET"),
            ({"livekit_api_secret": "short"}, "LIVEKIT_API_SECRET"),
            ({"web_host": "0.0.0.0"}, "PARLEY_TOKEN_AUTH_SECRET"),
            ({"web_host": "calls.example"}, "PARLEY_TOKEN_AUTH_SECRET"),
            ({"token_auth_secret": "short"}, "PARLEY_TOKEN_AUTH_SECRET"),
            ({"token_rate": "often"}, "PARLEY_TOKEN_RATE"),
            ({"web_allowed_personas": ""}, "PARLEY_WEB_ALLOWED_PERSONAS"),
            ({"web_allowed_personas": "nobody"}, "PARLEY_WEB_ALLOWED_PERSONAS"),
        ],
    )
    def test_names_the_setting(self, overrides: dict[str, Any], named: str) -> None:
        with pytest.raises(ConfigurationError, match=named):
            create_app(settings(**overrides))

    def test_off_loopback_with_a_secret_is_fine(self) -> None:
        create_app(settings(web_host="0.0.0.0", token_auth_secret=CALLER_SECRET))

    def test_messages_hold_no_secret(self) -> None:
        with pytest.raises(ConfigurationError) as caught:
            create_app(settings(livekit_api_secret="hunter2"))
        assert "hunter2" not in str(caught.value)
