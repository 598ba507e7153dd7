"""`parley phone` up to the network: what it refuses, in what words, with what exit status."""

from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from voice_agent.cli import app
from voice_agent.settings import home_dir


@pytest.fixture(autouse=True)
def no_settings_of_the_developer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home_dir.cache_clear()
    monkeypatch.setenv("PARLEY_HOME", str(tmp_path / "home"))
    # nobody listens there: whoever gets as far as the network fails with status 1
    monkeypatch.setenv("LIVEKIT_URL", "ws://127.0.0.1:9")
    monkeypatch.setenv("LIVEKIT_API_KEY", "key")
    monkeypatch.setenv("LIVEKIT_API_SECRET", "secret-of-more-than-32-characters-x")
    (tmp_path / "calls.csv").write_text("number,consent\n+15550142,yes\n")
    (tmp_path / "no.txt").write_text("")
    (tmp_path / "rules.yaml").write_text("timezone: UTC\n")


def parley(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["phone", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.output
    return result


CAMPAIGN = ("campaign", "calls.csv", "--persona", "front_desk", "--do-not-call", "no.txt")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("apply", "none.yaml"), "none.yaml: No such file"),
        (("call", "0301234567", "--persona", "front_desk"), "E.164"),
        (("call", "+112", "--persona", "front_desk"), "emergency numbers are not called"),
        (("call", "+15550142", "--persona", "nobody"), "There is no persona 'nobody'"),
        (("call", "+15550142", "--persona", "../../x"), "letters, digits"),
        (
            ("call", "+15550142", "--persona", "front_desk", "--opening", "Hello, I am Ann."),
            "says that it is a machine",
        ),
        (
            (*CAMPAIGN[:-1], "none.txt", "--rules", "rules.yaml"),
            "none.txt: No such file",
        ),
        ((*CAMPAIGN, "--rules", "none.yaml"), "none.yaml: No such file"),
        (("campaign", "none.csv", *CAMPAIGN[2:], "--rules", "rules.yaml"), "none.csv: No such"),
        ((*CAMPAIGN, "--rules", "rules.yaml", "--state", "no/state"), "no/state.lock: No such"),
        (("doctor", "--sip", "host:port"), "--sip: must be HOST or HOST:PORT"),
        (("doctor", "--sip", "host:99999"), "--sip: must be HOST or HOST:PORT"),
    ],
)
def test_bad_input_is_refused_before_anything_is_sent(
    arguments: tuple[str, ...], told: str
) -> None:
    result = parley(*arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.output.split())


def test_a_setting_that_is_wrong_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PARLEY_AGENT_NAME", "not a name!")
    result = parley("list")
    assert result.exit_code == 2
    assert "PARLEY_AGENT_NAME" in result.output
    assert "not a name" not in result.output


def test_a_campaign_needs_a_list_of_who_must_not_be_called() -> None:
    result = parley("campaign", "calls.csv", "--persona", "front_desk")
    assert result.exit_code == 2
    assert "--do-not-call" in result.output


def test_a_campaign_asks_where_people_are() -> None:
    """The front desk's persona says no time zone."""
    result = parley(*CAMPAIGN)
    assert result.exit_code == 2
    assert "neither the row, the rules nor the persona names one" in " ".join(result.output.split())


def test_a_dry_run_calls_nobody_and_writes_nothing(tmp_path: Path) -> None:
    result = parley(*CAMPAIGN, "--rules", "rules.yaml", "--dry-run")
    assert result.exit_code == 0
    assert "1 people agreed to be called." in result.output
    assert "The first call would begin" in result.output
    assert not (tmp_path / "calls.csv.state").exists()
    (tmp_path / "no.txt").write_text("+15550142\n")
    listed = parley(*CAMPAIGN, "--rules", "rules.yaml", "--dry-run")
    assert "Nobody is left to call." in listed.output


def test_a_server_that_is_gone_is_status_1() -> None:
    result = parley(*CAMPAIGN, "--rules", "rules.yaml")
    assert result.exit_code == 1
    assert "LiveKit at 127.0.0.1:9 cannot be reached" in result.output
    assert "+15550142" not in result.output
