"""`parley run` as its user meets it: it gets ready, says what it uses, and ends without a trace."""

import json
import os
import signal
import socket
import stat
import subprocess
from pathlib import Path

import httpx
import psutil
import pytest

from tests.stack import (
    END_OF_OUTPUT,
    PARLEY,
    Stack,
    process_tree,
    stack_environment,
    start_stack,
    still_running,
    stop_stack,
    wait_until_ready,
)
from voice_agent.stack.running_stack import STACK_FILE, RunningStack, read_running_stack

PARTS = {"livekit", "speech", "responder", "web", "worker"}


def parley(*arguments: str, home: Path, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PARLEY, *arguments],
        cwd=home,
        env={**stack_environment(home), **settings},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_ready_tells_the_page_and_that_a_script_answers(stack: Stack) -> None:
    assert httpx.get(f"{stack.web_url}/health").status_code == 200
    assert "script" in stack.said[-2]
    assert "not a language model" in stack.said[-2]
    assert set(stack.processes) == PARTS


def test_every_part_listens_on_loopback_only(stack: Stack) -> None:
    addresses = set()
    for process in process_tree(stack.pid):
        for connection in process.net_connections("inet"):
            if connection.status == psutil.CONN_LISTEN or connection.type == socket.SOCK_DGRAM:
                addresses.add((process.name(), connection.laddr.ip))
    assert addresses
    assert {ip for _, ip in addresses} <= {"127.0.0.1", "::1"}, addresses


def test_secrets_are_readable_by_their_owner_only(stack: Stack) -> None:
    for name in ("dev.env", "livekit.yaml"):
        assert stat.S_IMODE((stack.home / name).stat().st_mode) == 0o600
    logs = "".join(path.read_text() for path in stack.log_dir.glob("*.log"))
    assert stack.livekit_api_secret not in logs


def test_the_doctor_finds_the_running_stack_healthy(stack: Stack) -> None:
    result = parley("doctor", home=stack.home)
    assert result.returncode == 0, result.stdout
    assert stack.web_url in result.stdout
    for part in ("livekit", "speech", "web", "worker"):
        assert f"running {part}: healthy" in result.stdout


def test_the_doctor_loads_the_engines_where_nothing_runs(tmp_path: Path) -> None:
    result = parley("doctor", "--json", home=tmp_path)
    report = json.loads(result.stdout)
    assert report["ok"], report
    assert result.returncode == 0
    found = {check["subject"]: check for check in report["checks"]}
    assert "moonshine" in found["speech engines"]["detail"]
    assert found["language model"]["status"] == "note"


def test_the_doctor_names_each_problem_with_its_fix(tmp_path: Path) -> None:
    (tmp_path / "dev.env").touch(mode=0o644)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        result = parley(
            "doctor", home=tmp_path, PARLEY_WEB_PORT=port, PARLEY_TTS_VOICE_SPEED="2",
            PARLEY_STT_ENGINE="none", PARLEY_LLM_URL="http://127.0.0.1:9/v1",
        )  # fmt: skip
    assert result.returncode == 1
    assert f"PROBLEM  port {port}" in result.stdout
    assert "PARLEY_TTS_VOICE_SPEED is no setting" in result.stdout
    assert "PARLEY_STT_ENGINE" in result.stdout
    assert "PROBLEM  speech engines" in result.stdout
    assert "chmod 600" in result.stdout
    assert "http://127.0.0.1:9/v1" in result.stdout


def test_a_second_stack_in_the_same_home_is_refused(stack: Stack) -> None:
    result = parley("run", home=stack.home)
    assert result.returncode == 1
    assert f"already runs here at {stack.web_url}" in result.stderr
    assert read_running_stack(stack.home) is not None


def test_busy_ports_are_named_with_the_fix(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        result = parley("run", home=tmp_path, PARLEY_WEB_PORT=port)
    assert result.returncode == 1
    assert f"port {port} (page) is in use" in result.stderr
    assert "PARLEY_WEB_PORT=" in result.stderr
    assert "--auto-ports" in result.stderr


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"PARLEY_WEB_PORT": "eighty"}, "PARLEY_WEB_PORT"),
        ({"PARLEY_SPEECH_PORT": "70000"}, "PARLEY_SPEECH_PORT"),
        ({"LIVEKIT_API_SECRET": "short"}, "LIVEKIT_API_SECRET"),
        ({"PARLEY_LIVEKIT_SERVER_BIN": "/nowhere/livekit"}, "PARLEY_LIVEKIT_SERVER_BIN"),
        ({"PARLEY_LLM_URL": "http://127.0.0.1:9/v1"}, "PARLEY_LLM_URL"),
    ],
)
def test_a_setting_that_cannot_be_is_named(
    tmp_path: Path, settings: dict[str, str], named: str
) -> None:
    result = parley("run", home=tmp_path, **settings)
    assert result.returncode == 1
    assert named in result.stderr
    assert "Traceback" not in result.stderr


def test_a_part_that_cannot_start_is_named_with_its_log_and_stops_the_rest(tmp_path: Path) -> None:
    before = set(psutil.pids())
    result = parley("run", "--no-probe", home=tmp_path, PARLEY_TTS_CAPACITY_STREAMS="none")
    assert result.returncode == 1
    assert "speech ended with status" in result.stderr
    assert str(tmp_path / "logs" / "speech.log") in result.stderr
    assert "PARLEY_TTS_CAPACITY_STREAMS" in (tmp_path / "logs" / "speech.log").read_text()
    assert not _ours(set(psutil.pids()) - before, tmp_path)


def test_a_part_that_dies_stops_the_stack_and_is_named(tmp_path: Path) -> None:
    process, lines = start_stack(tmp_path)
    stack = wait_until_ready(process, lines, tmp_path)
    tree = process_tree(process.pid)
    os.kill(stack.processes["responder"], signal.SIGKILL)
    assert process.wait(60) == 1
    assert not still_running(tree)
    said = []
    while (line := lines.get(timeout=10)) != END_OF_OUTPUT:
        said.append(line)
    assert any("responder was killed by signal 9" in line for line in said)


def test_sigkill_of_the_runner_leaves_nothing_and_the_next_run_works(tmp_path: Path) -> None:
    process, lines = start_stack(tmp_path)
    wait_until_ready(process, lines, tmp_path)
    left = stop_stack(process, signal.SIGKILL)
    assert not left
    assert read_running_stack(tmp_path) is None
    process, lines = start_stack(tmp_path)
    stack = wait_until_ready(process, lines, tmp_path)
    state = RunningStack.model_validate_json((tmp_path / STACK_FILE).read_bytes())
    assert state.web_url == stack.web_url
    assert not stop_stack(process, signal.SIGTERM)
    assert process.returncode == 0


def _ours(pids: set[int], home: Path) -> list[str]:
    """Command lines of processes that belong to the stack of this home folder."""
    found = []
    for pid in pids:
        try:
            process = psutil.Process(pid)
            if process.environ().get("PARLEY_HOME") == str(home):
                found.append(" ".join(process.cmdline()))
        except psutil.Error:
            continue
    return found
