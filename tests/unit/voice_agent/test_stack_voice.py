from pathlib import Path

import pytest

from voice_agent.stack import vllm_environment, voice
from voice_agent.stack.doctor import check_voice
from voice_agent.stack.errors import StackError
from voice_agent.stack.plan import port_wishes
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import (
    READY_TIMEOUT_S,
    READY_TIMEOUT_VLLM_S,
    VoiceServer,
    ready_timeout_s,
    speech_settings,
    voice_server,
)


@pytest.fixture(autouse=True)
def no_vllm_and_no_settings_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(voice, "find_spec", lambda name: None)
    monkeypatch.setattr(vllm_environment, "VLLM_ENVIRONMENT", tmp_path / ".venv-vllm")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "orpheus"
    (folder / "snac").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    return folder


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an environment that `make` has finished."""
    program = tmp_path / ".venv-vllm" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / ".venv-vllm" / ".installed").touch()
    return program


def orpheus(model: Path | str, **more: object) -> RunSettings:
    return RunSettings(tts_engine="orpheus", tts_model=str(model), **more)  # type: ignore[arg-type]


def wished(settings: RunSettings) -> set[str]:
    return {wish.setting for wish in port_wishes(settings)}


def test_without_orpheus_one_server_plays_both_roles() -> None:
    settings = RunSettings(tts_engine="flite")
    assert voice_server(settings) is None
    assert speech_settings(settings) == {}
    assert "PARLEY_VOICE_PORT" not in wished(settings)
    assert ready_timeout_s(settings) == READY_TIMEOUT_S


def test_orpheus_gets_a_server_in_vllms_environment(model: Path, python: Path) -> None:
    settings = orpheus(model)
    speaks = {
        "PARLEY_SPEECH_ROLES": "tts",
        "PARLEY_TTS_ENGINE": "orpheus",
        "PARLEY_TTS_MODEL": str(model),
        "PARLEY_TTS_SNAC": str(model / "snac"),
    }
    assert voice_server(settings) == VoiceServer(python, speaks)
    assert speech_settings(settings) == {"PARLEY_SPEECH_ROLES": "stt"}
    assert "PARLEY_VOICE_PORT" in wished(settings)
    assert ready_timeout_s(settings) == READY_TIMEOUT_VLLM_S
    assert check_voice(settings).status == "ok"


def test_where_vllm_can_be_imported_one_server_plays_both_roles(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(voice, "find_spec", lambda name: object())
    settings = orpheus(model)
    assert voice_server(settings) is None
    assert "PARLEY_SPEECH_ROLES" not in speech_settings(settings)
    assert speech_settings(settings)["PARLEY_TTS_MODEL"] == str(model)
    assert "PARLEY_VOICE_PORT" not in wished(settings)
    with pytest.raises(StackError, match="/nowhere: there is no such directory"):
        speech_settings(orpheus("/nowhere"))


def test_a_voice_that_runs_elsewhere_is_not_started() -> None:
    settings = orpheus("/nowhere", tts_url="http://gpu:8090")
    assert voice_server(settings) is None
    assert speech_settings(settings) == {"PARLEY_SPEECH_ROLES": "stt"}
    assert ready_timeout_s(settings) == READY_TIMEOUT_S
    both = orpheus("/nowhere", speech_url="http://gpu:8090")
    assert voice_server(both) is None
    assert wished(both).isdisjoint({"PARLEY_VOICE_PORT", "PARLEY_SPEECH_PORT"})


def test_relative_directories_are_taken_from_here(model: Path, python: Path) -> None:
    (model / "snac").rename(model.parent / "codec")
    server = voice_server(orpheus("orpheus", tts_snac="codec"))
    assert server is not None
    assert server.settings["PARLEY_TTS_MODEL"] == str(model)
    assert server.settings["PARLEY_TTS_SNAC"] == str(model.parent / "codec")


def test_the_environment_may_be_named(model: Path, tmp_path: Path) -> None:
    own = tmp_path / "own-python"
    own.symlink_to("/bin/sh")
    server = voice_server(orpheus(model, voice_python=own))
    assert server is not None
    assert server.python == own, "a link stays one: its place says which environment it is"


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("no model", "needs PARLEY_TTS_MODEL"),
        ("no directory", "there is no such directory"),
        ("no config", r"there is no config\.json in it"),
        ("no codec", "codec is missing: there is no directory .*/snac"),
        ("no environment", r"vLLM, .* is not installed in .*\.venv-vllm"),
        ("no such python", "PARLEY_VOICE_PYTHON=/no/python: there is no such program"),
    ],
)
def test_what_is_missing_is_told_with_the_fix(
    model: Path, python: Path, broken: str, said: str
) -> None:
    settings = orpheus(model)
    match broken:
        case "no model":
            settings = RunSettings(tts_engine="orpheus")
        case "no directory":
            settings = orpheus("/no/model")
        case "no config":
            (model / "config.json").unlink()
        case "no codec":
            (model / "snac").rmdir()
        case "no environment":
            (python.parents[1] / ".installed").unlink()
        case "no such python":
            settings = orpheus(model, voice_python=Path("/no/python"))
    with pytest.raises(StackError, match=said) as raised:
        voice_server(settings)
    assert raised.value.fix
    finding = check_voice(settings)
    assert (finding.status, finding.fix) == ("problem", raised.value.fix)
    if broken == "no environment":
        assert raised.value.fix.startswith("make .venv-vllm/.installed")


def test_the_wait_can_be_set(model: Path) -> None:
    assert ready_timeout_s(orpheus(model, ready_timeout_s=7.0)) == 7.0
