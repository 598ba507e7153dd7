"""The worker process: registers with livekit-server and gives every call a process of its own."""

import logging
import socket
import sys
from functools import partial
from importlib import import_module
from urllib.parse import urlsplit

from livekit.agents import AgentServer, JobProcess, cli

from speech_plugins.tls import tls_context
from voice_agent.call import VAD_KEY, answer
from voice_agent.mcp_credentials import credential_faults
from voice_agent.personas import PersonaError, default_persona
from voice_agent.settings import AgentSettings, forbid_telemetry_content, home_dir
from voice_agent.turns.call_turns import load_vad
from voice_agent.worker_metrics import MetricsPage

logger = logging.getLogger(__name__)

INITIALIZE_S = 30.0
"""Longest start of a job process; a busy machine needs more than LiveKit's 10 s."""

JOB_MEMORY_WARN_MB = 700
"""A call needs about 380 MB, most of it shared with its siblings."""

JOB_MEMORY_LIMIT_MB = 1500
"""A call that needs more is killed, so that it does not take the others with it."""

_NOBODY = "console"
"""Key and secret where there are none: the console calls no server, but the framework's client
wants them. The commands that do call one have been refused by then."""

_COMMANDS_WITH_SERVER = frozenset({"dev", "start", "connect"})


class CallServer(AgentServer):
    """An `AgentServer` whose load is the share of its calls that are in use.

    LiveKit's own load is the machine's CPU: a busy minute then leaves a caller without an agent,
    and it says nothing about how many conversations the machine can hold.
    """

    def __init__(self, settings: AgentSettings) -> None:
        self._max_calls = settings.worker_max_calls
        metrics_port = settings.worker_metrics_port
        # LiveKit empties the folder when the worker starts, so no two workers may share it
        metrics_folder = home_dir() / "metrics" / f"worker-{metrics_port}"
        self._metrics_page = (
            MetricsPage(metrics_folder, settings.worker_host, metrics_port)
            if metrics_port
            else None
        )
        super().__init__(
            ws_url=settings.livekit_url,
            api_key=settings.livekit_api_key or _NOBODY,
            api_secret=settings.livekit_api_secret.get_secret_value() or _NOBODY,
            host=settings.worker_host,
            port=settings.worker_port,
            load_fnc=_load,
            load_threshold=1.0,
            num_idle_processes=settings.worker_idle_processes,
            initialize_process_timeout=INITIALIZE_S,
            job_memory_warn_mb=JOB_MEMORY_WARN_MB,
            job_memory_limit_mb=JOB_MEMORY_LIMIT_MB,
            setup_fnc=partial(prewarm, settings=settings),
            # imported once and shared; all but the first are what a call's first turn would import,
            # 0.1 to 0.5 s each time where eight calls begin at once
            preload_modules=[
                "voice_agent.call",
                "anyio._backends._asyncio",
                "livekit.agents.llm.async_toolset",
                "livekit.agents.voice.report",
                "numpy.fft",
                "numpy.ma",
                "openai.lib.streaming.chat",
                "openai.resources.chat.completions",
            ],
            prometheus_multiproc_dir=str(metrics_folder) if metrics_port else None,
            log_level={"warning": "WARN"}.get(settings.log_level, settings.log_level),
        )

    async def run(self, *, devmode: bool = False, unregistered: bool = False) -> None:
        """Serve calls until closed; see the base class."""
        if self._metrics_page is not None:
            await self._metrics_page.open()
        try:
            await super().run(devmode=devmode, unregistered=unregistered)
        finally:
            if self._metrics_page is not None:
                await self._metrics_page.close()

    @property
    def load(self) -> float:
        """Calls at work by calls possible; 1 and more means full."""
        return len(self.active_jobs) / self._max_calls

    def _get_effective_load(self) -> float:
        # the base class guesses what a job just accepted will cost, and refuses the third of
        # three callers who arrive together; here every call costs the same
        return (len(self.active_jobs) + self._reserved_slots) / self._max_calls


def _load(server: AgentServer) -> float:
    assert isinstance(server, CallServer)
    return server.load


def prewarm(process: JobProcess, settings: AgentSettings) -> None:
    """Load what a call needs before there is a call."""
    process.userdata[VAD_KEY] = load_vad(settings)
    tls_context(settings.llm_url)


def create_server(settings: AgentSettings) -> AgentServer:
    """Make the worker; nothing is opened until it runs."""
    forbid_telemetry_content()
    server = CallServer(settings)
    server.rtc_session(partial(answer, settings=settings), agent_name=settings.agent_name)
    return server


def run(server: AgentServer, settings: AgentSettings) -> None:
    """Run the command line of the worker: `dev`, `start`, `console`, `download-files`."""
    commands = set(sys.argv[1:])
    if commands & (_COMMANDS_WITH_SERVER | {"console"}):
        try:
            persona = default_persona(settings.persona, settings.personas_dir)
        except PersonaError as error:
            sys.exit(str(error))
        # of this persona alone: callers may ask for others, whose servers may be somebody else's
        if faults := list(credential_faults(persona)):
            sys.exit("; ".join(faults))
    if commands & _COMMANDS_WITH_SERVER:
        _check_livekit(settings)
    if "console" in commands:
        _check_sound()
    cli.run_app(server)


def _check_sound() -> None:
    """Say what is missing: the framework opens PortAudio even for a console without sound."""
    try:
        import_module("sounddevice")
    except OSError as error:
        sys.exit(f"{error}: install libportaudio2 (Debian) or portaudio (Homebrew).")


def _check_livekit(settings: AgentSettings) -> None:
    """Say what is missing in one line; connecting again and again is the framework's work."""
    if "--url" in sys.argv or "--api-key" in sys.argv:
        return
    if not settings.livekit_api_key or not settings.livekit_api_secret.get_secret_value():
        sys.exit(
            "No LiveKit key: run `parley run` once (it makes "
            f"{home_dir() / 'dev.env'}), or set LIVEKIT_API_KEY and LIVEKIT_API_SECRET."
        )
    url = urlsplit(settings.livekit_url)
    port = url.port or (443 if url.scheme in {"wss", "https"} else 80)
    try:
        socket.create_connection((url.hostname or "", port), timeout=2.0).close()
    except OSError as error:
        logger.warning(
            "No LiveKit server answers at %s (%s). Start it with `parley run`, or set "
            "LIVEKIT_URL. Trying again meanwhile.",
            settings.livekit_url,
            error.strerror or error,
        )
