from pathlib import Path
from typing import Any

import pytest

from language_server.settings import LanguageServerSettings
from language_server.vllm.errors import ModelError
from language_server.vllm.model import Model, read_model
from language_server.vllm.serve import commands, places_of, serve, the_model
from tests.unit.language_server.vllm.model_folder import make_folder


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return read_model(make_folder(tmp_path / "tiny"))


@pytest.mark.parametrize(
    ("fields", "limits"),
    [
        ({}, (8, 6, 4)),
        ({"max_sequences": 40}, (40, 30, 20)),
        ({"max_sequences": 4, "max_requests": 10}, (10, 8, 6)),
        ({"max_requests": 10, "reserved_requests": 0}, (10, 10, 10)),
        ({"profile": "h100"}, (80, 60, 40)),
    ],
)
def test_places(model: Model, fields: dict[str, Any], limits: tuple[int, ...]) -> None:
    settings = LanguageServerSettings(**{f"language_{name}": v for name, v in fields.items()})
    assert tuple(places_of(settings, model).limits.values()) == limits


def test_one_command_for_each_copy_on_a_socket_of_its_own(model: Model) -> None:
    made = commands(LanguageServerSettings(language_replicas=2), model, Path("/run/x"))
    sockets = [one.arguments[one.arguments.index("--uds") + 1] for one in made]
    assert sockets == ["/run/x/0.sock", "/run/x/1.sock"]


def test_nothing_is_started_where_vllm_runs_elsewhere(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARLEY_LANGUAGE_UPSTREAMS", "http://a:8000/, http://b:8000")
    settings = LanguageServerSettings()
    assert settings.language_upstreams == ("http://a:8000", "http://b:8000")
    assert commands(settings, model, Path("/run/x")) == []
    assert commands(settings, None, Path("/run/x")) == []
    assert places_of(settings, None).limits["committed"] == 64


def test_servers_elsewhere_need_the_model_s_name() -> None:
    settings = LanguageServerSettings(language_upstreams=("http://a:8000",))
    with pytest.raises(ModelError, match="PARLEY_LANGUAGE_MODEL_NAME"):
        serve(settings)


def test_the_model_has_to_be_named() -> None:
    with pytest.raises(ModelError, match="PARLEY_LANGUAGE_MODEL=DIR"):
        the_model(LanguageServerSettings())


def test_what_is_empty_in_the_environment_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_LANGUAGE_MAX_SEQUENCES", "")
    monkeypatch.setenv("PARLEY_LANGUAGE_PROFILE", "")
    settings = LanguageServerSettings()
    assert (settings.language_max_sequences, settings.language_profile) == (None, None)
