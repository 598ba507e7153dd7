import stat
from pathlib import Path

import pytest
from dotenv import dotenv_values

from voice_agent.stack.credentials import credentials_of, ensure_credentials, readable_by_others
from voice_agent.stack.errors import StackError
from voice_agent.stack.settings import RunSettings


def test_they_are_made_once_and_only_their_owner_may_read_them(tmp_path: Path) -> None:
    path = ensure_credentials(tmp_path / "new" / "home")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not readable_by_others(path)
    first = path.read_text()
    assert ensure_credentials(tmp_path / "new" / "home").read_text() == first
    assert [entry.name for entry in path.parent.iterdir()] == ["dev.env"]


def test_every_machine_gets_its_own(tmp_path: Path) -> None:
    one, other = (dotenv_values(ensure_credentials(tmp_path / name)) for name in "ab")
    assert one["LIVEKIT_API_SECRET"] != other["LIVEKIT_API_SECRET"]
    assert one["LIVEKIT_API_KEY"] != other["LIVEKIT_API_KEY"]
    assert len(one["LIVEKIT_API_SECRET"] or "") >= 32


def test_a_file_that_others_can_read_is_noticed(tmp_path: Path) -> None:
    path = ensure_credentials(tmp_path)
    path.chmod(0o640)
    assert readable_by_others(path)


def settings(key: str, secret: str) -> RunSettings:
    return RunSettings(livekit_api_key=key, livekit_api_secret=secret)  # type: ignore[arg-type]


def test_a_pair_is_returned() -> None:
    key, secret = credentials_of(settings("k", "s" * 32))
    assert (key, secret.get_secret_value()) == ("k", "s" * 32)


@pytest.mark.parametrize(("key", "secret"), [("", "s" * 32), ("k", ""), ("k", "s" * 31)])
def test_half_a_pair_or_a_short_secret_is_refused_without_showing_it(key: str, secret: str) -> None:
    with pytest.raises(StackError, match="LIVEKIT_API_SECRET") as raised:
        credentials_of(settings(key, secret))
    assert not secret or secret not in str(raised.value)
