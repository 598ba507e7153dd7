import pytest
from pydantic import ValidationError

from language_server.settings import LanguageServerSettings


def test_the_defaults_are_loopback() -> None:
    settings = LanguageServerSettings()
    assert settings.language_host == "127.0.0.1"
    assert settings.language_port == 8091
    assert settings.language_api_key is None


def test_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_LANGUAGE_PORT", "0")
    monkeypatch.setenv("PARLEY_LANGUAGE_API_KEY", "secret")
    settings = LanguageServerSettings()
    assert settings.language_port == 0
    assert "secret" not in repr(settings)


def test_a_wrong_value_is_named() -> None:
    with pytest.raises(ValidationError, match="language_token_interval_s"):
        LanguageServerSettings(language_token_interval_s=-1)
