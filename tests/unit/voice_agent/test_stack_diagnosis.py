from pathlib import Path

import pytest

from voice_agent.settings import AgentSettings
from voice_agent.stack import diagnosis
from voice_agent.stack.credentials import ensure_credentials
from voice_agent.stack.diagnosis import (
    Finding,
    check_credentials,
    check_packages,
    check_page,
    check_python,
    check_settings,
    variable_names,
)
from voice_agent.stack.doctor import check_port, to_json
from voice_agent.stack.plan import port_wishes
from voice_agent.stack.ports import PortWish, settle_ports
from voice_agent.stack.settings import RunSettings


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_this_python_will_do() -> None:
    assert check_python().status == "ok"


def test_packages_are_compared_with_the_pins(tmp_path: Path) -> None:
    pins = tmp_path / "run.txt"
    pins.write_text(
        "pydantic==0.0.1 \\\n    --hash=sha256:00\n"
        "no-such-package==1.0 ; sys_platform == 'win32' \\\n    --hash=sha256:00\n"
    )
    different = check_packages(pins)
    assert (different.status, different.fix) == ("note", "make setup")
    assert "pydantic" in different.detail
    assert "0.0.1" in different.detail
    pins.write_text("no-such-package==1.0 \\\n    --hash=sha256:00\n")
    assert check_packages(pins) == Finding(
        "packages", "problem", "missing: no-such-package", "make setup"
    )


def test_an_unknown_variable_is_a_problem_with_the_nearest_name() -> None:
    findings = list(check_settings({"PARLEY_WEB_PROT": "1", "PARLEY_HOME": "/x", "HOME": "/y"}))
    assert [finding.status for finding in findings] == ["problem"]
    assert findings[0].detail.startswith("PARLEY_WEB_PROT")
    assert findings[0].fix == "Did you mean PARLEY_WEB_PORT?"


def test_known_variables_of_every_program_are_no_problem() -> None:
    names = ("PARLEY_WEB_PORT", "PARLEY_STT_ENGINE", "PARLEY_LANGUAGE_PORT", "PARLEY_PERSONA")
    findings = list(check_settings(dict.fromkeys(names, "")))
    assert [finding.status for finding in findings] == ["ok"]


def test_a_wrong_value_is_named_without_being_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARLEY_STT_CAPACITY_STREAMS", "hunter2")
    findings = [f for f in check_settings({}) if f.status == "problem"]
    assert [finding.detail.split(":")[0] for finding in findings] == ["PARLEY_STT_CAPACITY_STREAMS"]
    assert "hunter2" not in findings[0].detail


def test_a_program_that_cannot_be_imported_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "SETTINGS_CLASSES", ("no_such_server.settings:Settings",))
    finding = next(iter(check_settings({})))
    assert (finding.status, finding.fix) == ("problem", "make setup")


def test_aliases_are_names_too() -> None:
    assert {"LIVEKIT_URL", "PARLEY_LIVEKIT_URL", "PARLEY_LLM_URL"} <= set(
        variable_names(AgentSettings)
    )


def test_every_port_of_the_stack_has_the_setting_that_its_program_reads() -> None:
    known = set()
    for place in diagnosis.SETTINGS_CLASSES:
        known |= set(variable_names(diagnosis._import_class(place)))
    wishes = port_wishes(RunSettings(livekit_api_key=""))
    assert {wish.setting for wish in wishes} <= known
    assert len({wish.port for wish in wishes}) == len(wishes)


def test_credentials(tmp_path: Path) -> None:
    assert check_credentials(tmp_path).status == "ok"
    path = ensure_credentials(tmp_path)
    assert check_credentials(tmp_path).status == "ok"
    path.chmod(0o644)
    assert check_credentials(tmp_path).fix == f"chmod 600 {path}"


def test_a_page_that_is_not_built_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda program: "/usr/bin/npm")
    assert check_page(tmp_path).fix == "make setup"
    monkeypatch.setattr("shutil.which", lambda program: None)
    assert "Node" in check_page(tmp_path).fix
    (tmp_path / "index.html").touch()
    assert check_page(tmp_path).status == "ok"


def test_a_free_port_is_fine() -> None:
    port = settle_ports([PortWish("probe", "P", 0)])["P"]
    assert check_port(PortWish("page", "PARLEY_WEB_PORT", port)).status == "ok"


def test_json_says_whether_all_is_well() -> None:
    note, problem = Finding("a", "note", "b"), Finding("c", "problem", "d", "e")
    assert '"ok": true' in to_json([note])
    assert '"ok": false' in to_json([note, problem])
    assert '"fix": "e"' in to_json([problem])
