"""The two wirings on one stack: our worker and the stock one, registered side by side."""

import json
import secrets
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import yaml
from livekit import api

from bench import stock_agent
from bench.call.answers import DISCLOSURE, GREETING, LONG_INSTRUCTIONS, SHORT_INSTRUCTIONS
from bench.call.engines import Engines, running
from bench.call.worker_process import further_worker, logged_worker
from bench.turns.replay import EAGER_LIMIT_S, EAGER_THRESHOLD
from tests.stack import Stack, clean_environment, running_stack
from voice_agent.caller.token_client import JoinTicket
from voice_agent.stack.plan import DRAIN_S, REGISTERED

_MOST_CALLS: Final = 32
_CAPACITY_STREAMS: Final = 64
"""More than the bench's callers: admission is not what is measured."""
_TICKET_TTL: Final = timedelta(minutes=5)
SHORT_PERSONA: Final = "bench_short"
LONG_PERSONA: Final = "bench_long"
_INSTRUCTIONS: Final = {SHORT_PERSONA: SHORT_INSTRUCTIONS, LONG_PERSONA: LONG_INSTRUCTIONS}


@dataclass(frozen=True)
class Wiring:
    """One way to build an agent on the same models."""

    name: str
    agent_name: str
    """Name under which its worker is registered."""
    description: str
    settings: Mapping[str, str] = field(default_factory=dict)
    """By which it differs from our stack's own worker."""


OURS: Final = Wiring("parley", "parley", "our agent, its default settings")
EAGER: Final = Wiring(
    "parley, eager",
    "parley-eager",
    f"our agent, quicker to answer: threshold {EAGER_THRESHOLD}, {EAGER_LIMIT_S} s for words that "
    "may be all",
    {
        "PARLEY_TURN_THRESHOLD": str(EAGER_THRESHOLD),
        "PARLEY_TURN_WHOLE_SILENCE_S": str(EAGER_LIMIT_S),
    },
)
STOCK: Final = Wiring(
    "stock",
    stock_agent.AGENT_NAME,
    "LiveKit's openai plugins and a default AgentSession with the turn detector v1-mini "
    "(bench/stock_agent.py)",
)


@dataclass(frozen=True)
class CallStack:
    """A stack that all wirings answer calls on."""

    stack: Stack
    worker_pid: int
    """Of our worker."""

    def ticket(self, wiring: Wiring, *, long_answers: bool = False) -> JoinTicket:
        """A new room with the wiring's agent in it.

        Args:
            wiring: who answers.
            long_answers: whether the answers last long enough to be interrupted.
        """
        persona = LONG_PERSONA if long_answers else SHORT_PERSONA
        told = (
            {"instructions": _INSTRUCTIONS[persona], "greeting": GREETING}
            if wiring is STOCK
            else {"persona": persona}
        )
        room = f"bench-{secrets.token_urlsafe(9)}"
        dispatch = api.RoomAgentDispatch(agent_name=wiring.agent_name, metadata=json.dumps(told))
        token = (
            api.AccessToken(self.stack.livekit_api_key, self.stack.livekit_api_secret)
            .with_identity("caller")
            .with_ttl(_TICKET_TTL)
            .with_grants(api.VideoGrants(room_join=True, room=room))
            .with_room_config(api.RoomConfiguration(agents=[dispatch]))
        )
        return JoinTicket(server_url=self.stack.livekit_url, participant_token=token.to_jwt())


@contextmanager
def call_stack(
    engines: Engines, settings: Mapping[str, str], logs: Path, *beside: Wiring
) -> Iterator[CallStack]:
    """Run one stack with its worker and others; stop it at the end.

    Args:
        engines: the models.
        settings: further settings of ours, by their lower-case name without prefix.
        logs: folder that every process's log is left in.
        beside: whose workers run as well.

    Raises:
        AssertionError, RuntimeError, PeerUnavailable: something did not start; the message holds
            what it said.
    """
    with TemporaryDirectory(prefix="parley-bench-") as folder, running(engines) as models:
        home = Path(folder) / "home"
        home.mkdir()
        given = {f"PARLEY_{name.upper()}": value for name, value in settings.items()}
        tuned = _settings(_write_personas(home))
        with running_stack(home, **tuned, **models, **given) as up, ExitStack() as workers:
            workers.callback(shutil.copytree, up.log_dir, logs, dirs_exist_ok=True)
            for wiring in beside:
                workers.enter_context(_worker(up, wiring))
            yield CallStack(up, up.processes["worker"])


def _worker(up: Stack, wiring: Wiring) -> AbstractContextManager[object]:
    if wiring is STOCK:
        return _stock_worker(up, wiring.agent_name)
    return further_worker(up, wiring.agent_name, wiring.settings)


def _stock_worker(up: Stack, agent_name: str) -> AbstractContextManager[object]:
    models = stock_agent.Models(up.speech_url, up.llm_url, up.llm_model)
    environment = {
        **clean_environment(),
        **models.environment(),
        "PARLEY_HOME": str(up.home),
        "LIVEKIT_URL": up.livekit_url,
        "LIVEKIT_API_KEY": up.livekit_api_key,
        "LIVEKIT_API_SECRET": up.livekit_api_secret,
    }
    command = (sys.executable, "-m", "bench.stock_agent", "start", "--drain-timeout", str(DRAIN_S))
    return logged_worker(command, environment, REGISTERED, up.log_dir / f"{agent_name}.log")


def _settings(personas: Path) -> dict[str, str]:
    return {
        "PARLEY_PERSONA": SHORT_PERSONA,
        "PARLEY_PERSONAS_DIR": str(personas),
        "PARLEY_WORKER_MAX_CALLS": str(_MOST_CALLS),
        "PARLEY_STT_CAPACITY_STREAMS": str(_CAPACITY_STREAMS),
        "PARLEY_TTS_CAPACITY_STREAMS": str(_CAPACITY_STREAMS),
    }


def _write_personas(home: Path) -> Path:
    folder = home / "personas"
    folder.mkdir()
    for name, instructions in _INSTRUCTIONS.items():
        fields = {
            "name": name,
            "disclosure": DISCLOSURE,
            "greeting": GREETING,
            "instructions": instructions,
        }
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(fields), encoding="utf-8")
    return folder
