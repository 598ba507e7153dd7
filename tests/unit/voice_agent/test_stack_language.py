from pathlib import Path
from typing import Any

import pytest

from voice_agent.stack.errors import StackError
from voice_agent.stack.language import language_settings, own_model
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import ready_timeout_s


def settings(**given: Any) -> RunSettings:
    return RunSettings(_env_file=None, **given)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "qwen3-8b"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_the_script_needs_no_settings() -> None:
    assert own_model(settings(), 5).origin == "script"
    assert language_settings(settings()) == {}
    assert ready_timeout_s(settings()) == 180


def test_a_model_in_vllm_is_asked_for_by_its_name(model: Path, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.touch()
    given = settings(language_engine="vllm", language_model=model, voice_python=python)
    own = own_model(given, 5)
    assert (own.url, own.model) == ("http://127.0.0.1:5/v1", "qwen3-8b")
    assert own.describe() == "Language model: qwen3-8b, in vLLM on this machine"
    assert language_settings(given) == {
        "PARLEY_LANGUAGE_ENGINE": "vllm",
        "PARLEY_LANGUAGE_MODEL": str(model),
        "PARLEY_LANGUAGE_MODEL_NAME": "qwen3-8b",
        "PARLEY_LANGUAGE_PYTHON": str(python),
    }
    assert ready_timeout_s(given) == 900
    named = settings(language_engine="vllm", language_model=model, language_model_name="desk")
    assert own_model(named, 5).model == "desk"


def test_a_model_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="needs PARLEY_LANGUAGE_MODEL"):
        language_settings(settings(language_engine="vllm"))
    with pytest.raises(StackError, match=r"no config\.json"):
        own_model(settings(language_engine="vllm", language_model=tmp_path), 5)


def test_without_vllm_it_is_told_how_to_get_it(model: Path, tmp_path: Path) -> None:
    missing = tmp_path / "none" / "python"
    given = settings(language_engine="vllm", language_model=model, language_python=missing)
    with pytest.raises(StackError, match=r"PARLEY_LANGUAGE_PYTHON=.*no such program"):
        language_settings(given)


def test_where_another_server_is_named_ours_serves_nothing(model: Path) -> None:
    given = settings(language_engine="vllm", language_model=model, llm_url="http://gpu/v1")
    assert language_settings(given) == {}
    assert ready_timeout_s(given) == 180
