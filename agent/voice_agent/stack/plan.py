"""What to start: the programs of the stack, each with its environment."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from voice_agent.stack.errors import StackError
from voice_agent.stack.model_probe import LanguageModel
from voice_agent.stack.phone import Phone, phone_port_wishes
from voice_agent.stack.ports import LOOPBACK, PortWish
from voice_agent.stack.processes import Program
from voice_agent.stack.program_finder import FoundProgram
from voice_agent.stack.running_stack import RunningStack
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import VoiceServer, has_own_server

AGENT_SCRIPT = Path(__file__).resolve().parents[2] / "agent.py"

DRAIN_S = 2
"""How long a running call may go on once the stack is told to stop, seconds. It is then ended by
the worker itself, so that the call's own ending is still carried out."""

REGISTERED = re.compile(r"registered worker")
"""What the worker logs once livekit-server may send it calls. Source: livekit-agents 1.8.9,
worker.py, `_handle_register`; its health page does not tell."""


def port_wishes(settings: RunSettings) -> list[PortWish]:
    """The ports that the stack will listen on.

    The responder's is among them even when a model takes its place: whether one does is only
    known after looking for it, and that must not ask our own processes.
    """
    wishes = [
        PortWish("page", "PARLEY_WEB_PORT", settings.web_port),
        PortWish("language server", "PARLEY_LANGUAGE_PORT", settings.language_port),
        PortWish("worker health", "PARLEY_WORKER_PORT", settings.worker_port),
    ]
    if settings.worker_metrics_port:
        wishes.append(
            PortWish("worker metrics", "PARLEY_WORKER_METRICS_PORT", settings.worker_metrics_port)
        )
    if settings.speech_url is None:
        wishes.append(PortWish("speech server", "PARLEY_SPEECH_PORT", settings.speech_port))
    if has_own_server(settings):
        wishes.append(PortWish("Orpheus voice", "PARLEY_VOICE_PORT", settings.voice_port))
    if not uses_own_livekit(settings):
        return wishes
    udp_port = settings.livekit_udp_port
    return [
        *wishes,
        PortWish("livekit-server", "PARLEY_LIVEKIT_PORT", settings.livekit_port),
        PortWish("livekit-server media", "PARLEY_LIVEKIT_UDP_PORT", udp_port, "udp"),
        *phone_port_wishes(settings),
    ]


def uses_own_livekit(settings: RunSettings) -> bool:
    """Whether `parley run` starts livekit-server: unless the settings name one that runs."""
    return "livekit_url" not in settings.model_fields_set


@dataclass(frozen=True)
class StackPlan:
    """Everything that is decided before the first program starts.

    Attributes:
        home: home folder.
        ports: settled ports, by setting.
        livekit_url: livekit-server, as a WebSocket URL.
        speech_url: the speech server.
        language_model: the model to talk with.
        livekit_server: the livekit-server to start; None when one runs elsewhere.
        livekit_config: its configuration file; None when one runs elsewhere.
        environment: environment of every program, without what the plan adds.
        credentials: LiveKit's key and secret.
        speech_settings: what the speech server is told besides the environment.
        language_settings: what our language server is told besides the environment.
        voice: the speech server that only speaks; None where one server plays both roles.
        phone: Redis and livekit-sip; None where no telephone is wanted.
    """

    home: Path
    ports: Mapping[str, int]
    livekit_url: str
    speech_url: str
    language_model: LanguageModel
    livekit_server: FoundProgram | None
    livekit_config: Path | None
    environment: Mapping[str, str] = field(repr=False)
    credentials: tuple[str, str] = field(repr=False)
    speech_settings: Mapping[str, str] = field(default_factory=dict)
    language_settings: Mapping[str, str] = field(default_factory=dict)
    voice: VoiceServer | None = None
    phone: Phone | None = None

    @property
    def web_url(self) -> str:
        """The page."""
        return f"http://{LOOPBACK}:{self.ports['PARLEY_WEB_PORT']}"

    @property
    def worker_url(self) -> str:
        """The worker's health page."""
        return f"http://{LOOPBACK}:{self.ports['PARLEY_WORKER_PORT']}"

    @property
    def metrics_url(self) -> str | None:
        """The worker's Prometheus page; None when it is off."""
        port = self.ports.get("PARLEY_WORKER_METRICS_PORT")
        return f"http://{LOOPBACK}:{port}/metrics" if port else None

    @property
    def voice_url(self) -> str | None:
        """The speech server that only speaks; None where there is none."""
        return f"http://{LOOPBACK}:{self.ports['PARLEY_VOICE_PORT']}" if self.voice else None

    def programs(self) -> list[Program]:
        """The programs to start, in order; the last started is the first stopped.

        The worker is last, so that at the end it can still tell livekit-server that it leaves.

        Raises:
            StackError: a file of the checkout is missing.
        """
        if not AGENT_SCRIPT.is_file():
            raise StackError(
                f"the worker's program is missing: {AGENT_SCRIPT}",
                "Run Parley from its checkout (`make run`).",
            )
        programs = []
        if self.phone is not None:
            programs.append(self.phone.redis_program(self.environment))
        if self.livekit_server is not None and self.livekit_config is not None:
            port = self.ports["PARLEY_LIVEKIT_PORT"]
            programs.append(
                Program(
                    "livekit",
                    (*self.livekit_server.command, "--config", self.livekit_config),
                    # Its own variables (LIVEKIT_CONFIG, LIVEKIT_KEYS) would win over the file.
                    {k: v for k, v in self.environment.items() if not k.startswith("LIVEKIT_")},
                    ready_url=f"http://{LOOPBACK}:{port}/",
                    cleanup=self.livekit_server.cleanup,
                    after_others=self.phone is not None,
                    carries_sound=True,
                )
            )
        if self.phone is not None:
            programs.append(self.phone.sip_program(self.environment))
        if "PARLEY_SPEECH_PORT" in self.ports:
            port = self.ports["PARLEY_SPEECH_PORT"]
            environment = {**self._child_environment(), **self.speech_settings}
            programs.append(speech_program(environment, port))
        if self.voice is not None:
            port = self.ports["PARLEY_VOICE_PORT"]
            environment = {**self._child_environment(), **self.voice.settings}
            programs.append(speech_program(environment, port, "voice", self.voice.python))
        if self.language_model.origin in {"own", "script"}:
            programs.append(self._language_program(self.ports["PARLEY_LANGUAGE_PORT"]))
        port = self.ports["PARLEY_WEB_PORT"]
        programs.append(self._python("web", "voice_agent.token_server", port, "/health"))
        programs.append(
            Program(
                "worker",
                # `start`, not `dev`: it takes calls by capacity and ends them properly.
                (sys.executable, AGENT_SCRIPT, "start", "--drain-timeout", str(DRAIN_S)),
                self._child_environment(),
                ready_url=f"{self.worker_url}/",
                ready_line=REGISTERED,
            )
        )
        return programs

    def describe(self, processes: Mapping[str, int], pid: int) -> RunningStack:
        """The stack as others may find it, once it runs."""
        return RunningStack(
            pid=pid,
            web_url=self.web_url,
            livekit_url=self.livekit_url,
            speech_url=self.speech_url,
            voice_url=self.voice_url,
            llm_url=self.language_model.url,
            llm_model=self.language_model.model,
            worker_url=self.worker_url,
            metrics_url=self.metrics_url,
            sip_address=self.phone.address if self.phone else None,
            processes=dict(processes),
        )

    def _language_program(self, port: int) -> Program:
        if self.language_model.origin == "script":
            return self._python("responder", "language_server", port, "/health")
        environment = {**self._child_environment(), **self.language_settings}
        program = _python_program("language", "language_server", environment, port, "/ready")
        # vLLM measures the memory that is free while it loads, so the voice's has loaded by then.
        return replace(program, after_others=self.voice is not None)

    def _python(self, name: str, module: str, port: int, health: str) -> Program:
        return _python_program(name, module, self._child_environment(), port, health)

    def _child_environment(self) -> dict[str, str]:
        key, secret = self.credentials
        return {
            **self.environment,
            "PYTHONUNBUFFERED": "1",
            "PARLEY_HOME": str(self.home),
            **{setting: str(port) for setting, port in self.ports.items()},
            "PARLEY_LIVEKIT_URL": self.livekit_url,
            "LIVEKIT_URL": self.livekit_url,
            "LIVEKIT_API_KEY": key,
            "LIVEKIT_API_SECRET": secret,
            "PARLEY_LIVEKIT_API_KEY": key,
            "PARLEY_LIVEKIT_API_SECRET": secret,
            "PARLEY_SPEECH_URL": self.speech_url,
            **({"PARLEY_TTS_URL": self.voice_url} if self.voice_url else {}),
            "PARLEY_LLM_URL": self.language_model.url,
            "PARLEY_LLM_MODEL": self.language_model.model,
            **({"PARLEY_LLM_PRIORITIES": "true"} if self.language_model.origin == "own" else {}),
        }


def speech_program(
    environment: Mapping[str, str],
    port: int,
    name: str = "speech",
    python: str | Path = sys.executable,
) -> Program:
    """A speech server at a port; ready once its engines are loaded and warm."""
    environment = {**environment, "PARLEY_SPEECH_PORT": str(port)}
    return _python_program(name, "speech_server", environment, port, "/ready", python)


def _python_program(
    name: str,
    module: str,
    environment: Mapping[str, str],
    port: int,
    health: str,
    python: str | Path = sys.executable,
) -> Program:
    return Program(
        name,
        (python, "-m", module),
        environment,
        ready_url=f"http://{LOOPBACK}:{port}{health}",
    )
