"""The worker started by hand, as its developer does, against a stack that runs already."""

import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from livekit import api

from tests.stack import CHECKOUT, END_OF_OUTPUT, Stack, process_tree, still_running
from voice_agent.caller.conversation import Limits, TypedLine, hold_conversation
from voice_agent.caller.token_client import JoinTicket
from voice_agent.stack.plan import REGISTERED

AGENT_NAME = "by-hand"
"""Not the stack's own, so that its worker gets none of these calls."""
READY_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 30.0

pytestmark = pytest.mark.timeout(320)  # the first test of a session starts the stack as well


@contextmanager
def running_worker(stack: Stack, folder: Path, command: Sequence[str]) -> Iterator[None]:
    """Run a worker in a folder until it is registered; stop it with Ctrl-C at the end."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=folder,
        env={
            **stack.environment,
            "LIVEKIT_URL": stack.livekit_url,
            "PARLEY_AGENT_NAME": AGENT_NAME,
            "PARLEY_SPEECH_URL": stack.speech_url,
            "PARLEY_LLM_URL": stack.llm_url,
            "PARLEY_LLM_MODEL": stack.llm_model,
            "PARLEY_WORKER_PORT": "0",
            "PARLEY_WORKER_METRICS_PORT": "0",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=pump, args=(process, lines), daemon=True).start()
    try:
        wait_until_registered(lines)
        yield
    finally:
        tree = process_tree(process.pid)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(STOP_TIMEOUT_S)
        finally:
            left = still_running(tree)
            for survivor in left:
                survivor.kill()
    assert process.returncode == 0
    assert not left, f"left running: {left}"


def pump(process: subprocess.Popen[str], lines: "queue.Queue[str]") -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(END_OF_OUTPUT)


def wait_until_registered(lines: "queue.Queue[str]") -> None:
    said: list[str] = []
    while not said or not REGISTERED.search(said[-1]):
        try:
            said.append(lines.get(timeout=READY_TIMEOUT_S))
        except queue.Empty:
            said.append(END_OF_OUTPUT)
        assert said[-1] != END_OF_OUTPUT, "".join(said)


def ticket_for(stack: Stack, room: str) -> JoinTicket:
    """What a token server would hand out that knew this agent; the stack's knows only its own."""
    token = (
        api.AccessToken(stack.livekit_api_key, stack.livekit_api_secret)
        .with_identity("caller")
        .with_grants(api.VideoGrants(room_join=True, room=room))
        .with_room_config(
            api.RoomConfiguration(agents=[api.RoomAgentDispatch(agent_name=AGENT_NAME)])
        )
    )
    return JoinTicket(server_url=stack.livekit_url, participant_token=token.to_jwt())


@pytest.mark.parametrize(
    ("folder", "command"),
    [
        ("agent", ["agent.py", "dev"]),
        ("agent", ["agent.py", "start"]),
        (".", ["-m", "livekit.agents", "start", "agent/agent.py"]),
    ],
    ids=["dev", "start", "livekit"],
)
async def test_a_worker_started_by_hand_answers_a_call(
    stack: Stack, folder: str, command: list[str], request: pytest.FixtureRequest
) -> None:
    with running_worker(stack, CHECKOUT / folder, command):
        report = await hold_conversation(
            ticket_for(stack, f"by-hand-{request.node.callspec.id}"),
            [TypedLine("When are you open on Friday?")],
            Limits(),
        )
    assert report.errors == []
    assert report.greeting is not None
    assert "automated assistant" in report.greeting.reply
    (turn,) = report.turns
    assert "Friday" in turn.reply
