import os
import pickle
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import voice_agent
from voice_agent.settings import AgentSettings
from voice_agent.worker import CallServer, create_server, prewarm

AGENT_DIR = Path(voice_agent.__file__).parents[1]


def server(**settings: Any) -> Any:
    made = create_server(AgentSettings(**settings))
    assert isinstance(made, CallServer)
    return made


def put_calls(worker: Any, *, active: int, accepted: int = 0) -> None:
    processes = [SimpleNamespace(running_job=object() if i < active else None) for i in range(9)]
    worker._proc_pool = SimpleNamespace(processes=processes)
    worker._worker_load = worker.load
    worker._reserved_slots = accepted
    worker._devmode = True


@pytest.mark.parametrize(
    ("active", "accepted", "available"),
    [(0, 0, True), (0, 2, True), (2, 0, True), (1, 1, True), (3, 0, False), (0, 3, False)],
)
def test_a_worker_takes_as_many_calls_as_it_may_and_no_more(
    active: int, accepted: int, available: bool
) -> None:
    worker = server(worker_max_calls=3)
    put_calls(worker, active=active, accepted=accepted)
    assert worker._is_available() is available


def test_load_is_calls_and_not_cpu() -> None:
    worker = server(worker_max_calls=4)
    put_calls(worker, active=1)
    assert worker.load == 0.25
    assert worker.load_fnc(worker) == 0.25


def test_the_worker_stays_on_this_machine_unless_told() -> None:
    worker = server(worker_port=18_081, worker_metrics_port=18_082)
    assert (worker._host, worker._port) == ("127.0.0.1", 18_081)
    page = worker._metrics_page
    assert (page._host, page._port) == ("127.0.0.1", 18_082)


def test_metrics_can_be_turned_off() -> None:
    worker = server(worker_metrics_port=0)
    assert worker._metrics_page is None
    assert worker._prometheus_multiproc_dir is None


def test_callers_ask_for_the_worker_by_name() -> None:
    assert server(agent_name="reception")._agent_name == "reception"


def test_what_a_job_process_gets_can_be_sent_to_it() -> None:
    worker = server(livekit_api_secret="s" * 32)
    entry = pickle.loads(pickle.dumps(worker._entrypoint_fnc))
    assert entry.keywords["settings"].livekit_api_secret.get_secret_value() == "s" * 32
    setup = pickle.loads(pickle.dumps(worker.setup_fnc))
    assert setup.func is prewarm
    assert setup.keywords["settings"] == entry.keywords["settings"]


def test_what_is_said_stays_out_of_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LIVEKIT_TELEMETRY_ALLOW_PII", raising=False)
    server()
    assert os.environ["LIVEKIT_TELEMETRY_ALLOW_PII"] == "0"


def run_agent(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `agent.py` as one does after a clone, with nothing in the environment."""
    return subprocess.run(
        [sys.executable, "agent.py", *arguments],
        cwd=AGENT_DIR,
        env={"PATH": os.environ["PATH"], "PARLEY_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_missing_key_is_one_line_with_the_fix(tmp_path: Path) -> None:
    result = run_agent(tmp_path, "dev")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "parley run" in result.stderr
    assert "LIVEKIT_API_KEY" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_persona_file_with_a_mistake_stops_the_worker_at_once(tmp_path: Path) -> None:
    persona = tmp_path / "clerk.yaml"
    persona.write_text("name: clerk\ncolour: blue\n")
    result = run_agent(tmp_path, "start", PARLEY_PERSONA=str(persona))
    assert result.returncode == 1
    assert "clerk.yaml: line 1: " in result.stderr
    assert "line 1: disclosure: Field required" in result.stderr
    assert "line 2: colour: Extra inputs" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_credential_that_is_not_set_stops_the_worker_at_once(tmp_path: Path) -> None:
    persona = tmp_path / "clerk.yaml"
    persona.write_text(
        "name: clerk\ndisclosure: A robot.\ngreeting: A robot.\ninstructions: Be kind.\n"
        "mcp:\n  crm:\n    url: https://crm.example/mcp\n"
        "    credential: {variable: PARLEY_MCP_CRM_TOKEN}\n"
        "    tools: {find: {description: Finds.}}\n"
    )
    result = run_agent(tmp_path, "start", PARLEY_PERSONA=str(persona))
    assert result.returncode == 1
    assert "MCP server crm: PARLEY_MCP_CRM_TOKEN is not set; set it in the" in result.stderr
    assert "Traceback" not in result.stderr
