import os
import runpy
import subprocess
from pathlib import Path

import pytest

from tests.unit.deploy.compose_files import DEPLOY, FILES, system, variables
from tests.unit.deploy.test_compose import SECRETS
from voice_agent.token_server.auth import authenticate
from voice_agent.token_server.errors import Unauthorized

INVITE = runpy.run_path(str(DEPLOY / "invite.py"))


def new_env(*arguments: str, node_ip: str = "203.0.113.7") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(DEPLOY / "new-env.sh"), *arguments],
        env={"PATH": os.environ["PATH"], "PARLEY_NODE_IP": node_ip},
        capture_output=True,
        text=True,
        check=False,
    )


def settings(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines())


@pytest.mark.parametrize("layout", ["", "h100", "a10-h100"])
def test_new_settings_start_a_layout(layout: str, tmp_path: Path) -> None:
    written = new_env("calls.example.com", *([layout, str(tmp_path)] if layout else []))
    assert written.returncode == 0, written.stderr
    environment = settings(written.stdout)
    files = environment["COMPOSE_FILE"].split(":")
    assert all((DEPLOY / name).is_file() for name in files)
    services = system(layout or "built-in", environment)["services"]
    assert services["livekit"]["environment"]["NODE_IP"] == "203.0.113.7"
    known = {found["name"] for name in FILES for found in variables(name)} | {"COMPOSE_FILE"}
    assert environment.keys() <= known


def test_every_secret_is_new_and_long() -> None:
    one, two = (settings(new_env("calls.example.com").stdout) for _ in range(2))
    for name in SECRETS:
        assert one[name] != two[name]
        assert len(one[name]) >= (19 if name == "LIVEKIT_API_KEY" else 24)
    assert len({one[name] for name in SECRETS}) == len(SECRETS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "usage"),
        (("https://calls.example.com",), "a name or an IPv4 address"),
        (("calls.example.com", "t4"), "h100 or a10-h100"),
        (("calls.example.com", "h100"), "absolute path"),
        (("calls.example.com", "h100", "/nowhere/models"), "no directory /nowhere/models"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], message: str) -> None:
    told = new_env(*arguments)
    assert told.returncode == 2
    assert message in told.stderr
    assert told.stdout == ""


def test_a_host_without_an_address_is_told() -> None:
    told = new_env("no-such-host.invalid", node_ip="")
    assert told.returncode == 2
    assert "no IPv4 address" in told.stderr


def test_a_pass_opens_the_token_server() -> None:
    secret = "s" * 40
    far = INVITE["sign"](secret, 4_000_000_000)
    authenticate(f"Bearer {far}", secret)
    with pytest.raises(Unauthorized, match="not valid"):
        authenticate(f"Bearer {far}", "t" * 40)
    with pytest.raises(Unauthorized, match="expired"):
        authenticate(f"Bearer {INVITE['sign'](secret, 1_000_000_000)}", secret)


def test_an_invitation_is_a_link(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    main = INVITE["main"]
    main.__globals__["ENV_FILE"] = file
    with pytest.raises(SystemExit, match=r"new-env\.sh"):
        main([])
    file.write_text("# a comment\nPARLEY_HOST=calls.example.com\nPARLEY_TOKEN_AUTH_SECRET=\n")
    with pytest.raises(SystemExit, match="PARLEY_TOKEN_AUTH_SECRET"):
        main([])
    file.write_text(f"PARLEY_HOST=calls.example.com\nPARLEY_TOKEN_AUTH_SECRET={'s' * 40}\n")
    link = main(["2"])
    assert link.startswith("https://calls.example.com/#token=")
    authenticate(f"Bearer {link.partition('token=')[2]}", "s" * 40)
    for wrong in (["0"], ["-1"], ["ten"], ["1", "2"], ["1000000"]):
        with pytest.raises(SystemExit, match="usage"):
            main(wrong)
