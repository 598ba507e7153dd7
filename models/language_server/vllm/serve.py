"""Starts the copies of the model and the door before them, and ends them together."""

import asyncio
import logging
import signal
import sys
import tempfile
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

import uvicorn

from language_server.settings import LanguageServerSettings, allowed_cores, environment
from language_server.vllm.admission import Places
from language_server.vllm.command import Command, limits_of, served_name, vllm_command
from language_server.vllm.control_tokens import ControlTokens
from language_server.vllm.errors import ModelError
from language_server.vllm.metrics import Metrics
from language_server.vllm.model import Model, read_model
from language_server.vllm.process import VllmProcess
from language_server.vllm.proxy import create_proxy
from language_server.vllm.replica import Replica
from language_server.vllm.supervisor import GaveUp, Supervisor, watch
from language_server.vllm.warmth import WarmPrefixes

logger = logging.getLogger(__name__)

FAILED: Final = 1
"""Exit status where the model does not stay alive."""
_GRACE_S: Final = 5
"""Time that answers have to end once the server is told to stop, seconds."""
_MAX_CONNECTIONS: Final = 4096


def serve(settings: LanguageServerSettings) -> int:
    """Serve until SIGINT or SIGTERM.

    Returns:
        Exit status.

    Raises:
        ModelError: the model or a setting of it will not do.
    """
    model = the_model(settings) if settings.language_model else None
    if model is not None:
        limits_of(settings, model)
    elif not (settings.language_upstreams and settings.language_model_name):
        raise ModelError(
            "PARLEY_LANGUAGE_ENGINE=vllm needs PARLEY_LANGUAGE_MODEL=DIR, or with"
            " PARLEY_LANGUAGE_UPSTREAMS the model's PARLEY_LANGUAGE_MODEL_NAME"
        )
    with tempfile.TemporaryDirectory(prefix="parley-vllm-") as folder:
        return asyncio.run(_serve(settings, model, Path(folder)))


def the_model(settings: LanguageServerSettings) -> Model:
    """The model that the settings name.

    Raises:
        ModelError: they name none, or it will not do.
    """
    if settings.language_model is None:
        raise ModelError("PARLEY_LANGUAGE_ENGINE=vllm needs PARLEY_LANGUAGE_MODEL=DIR")
    return read_model(settings.language_model.expanduser().absolute())


def places_of(settings: LanguageServerSettings, model: Model | None) -> Places:
    """Places of one copy: as many as vLLM has sequences, so that nobody waits in a queue."""
    limit = settings.language_max_requests
    if model is not None and "language_max_requests" not in settings.model_fields_set:
        limit = limits_of(settings, model).max_sequences
    reserved = settings.language_reserved_requests
    return Places(limit, limit // 4 if reserved is None else reserved)


def commands(settings: LanguageServerSettings, model: Model | None, folder: Path) -> list[Command]:
    """What is started, one for each copy; none where they run elsewhere.

    Raises:
        ModelError: the settings contradict each other.
    """
    if settings.language_upstreams or model is None:
        return []
    # Not resolved: an environment's interpreter is a link, and knows its place by it.
    python = settings.language_python or Path(sys.executable)
    return [
        vllm_command(
            settings,
            model,
            socket=folder / f"{number}.sock",
            python=python.expanduser().absolute(),
            environment=environment(),
            cores=max(1, allowed_cores() // settings.language_replicas),
            replica=number,
        )
        for number in range(settings.language_replicas)
    ]


async def _serve(settings: LanguageServerSettings, model: Model | None, folder: Path) -> int:
    metrics, prefixes = Metrics(), WarmPrefixes(settings.language_warm_prefixes)
    name = settings.language_model_name or (served_name(settings, model) if model else "")
    replicas: list[Replica] = []
    running: list[Coroutine[Any, Any, None]] = []
    for number, url in enumerate(settings.language_upstreams):
        places = places_of(settings, model)
        replica = Replica(f"vllm-{number}", name, places, prefixes, metrics, url=url)
        replicas.append(replica)
        running.append(watch(replica))
    for number, command in enumerate(commands(settings, model, folder)):
        places, socket = places_of(settings, model), folder / f"{number}.sock"
        replica = Replica(f"vllm-{number}", name, places, prefixes, metrics, socket=socket)
        replicas.append(replica)
        supervisor = Supervisor(
            replica,
            partial(_new_process, command, socket),
            start_timeout_s=settings.language_start_timeout_s,
            max_restarts=settings.language_max_restarts,
            metrics=metrics,
        )
        running.append(supervisor.run())
    server = uvicorn.Server(
        uvicorn.Config(
            create_proxy(
                settings,
                name,
                replicas,
                prefixes,
                metrics,
                ControlTokens(model.control_tokens if model else ()),
            ),
            host=settings.language_host,
            port=settings.language_port,
            log_level=settings.language_log_level,
            access_log=False,
            timeout_graceful_shutdown=_GRACE_S,
            limit_concurrency=_MAX_CONNECTIONS,
        )
    )
    return await _until_stopped(server, running)


def _new_process(command: Command, socket: Path) -> VllmProcess:
    # A dead vLLM leaves its socket behind, and the next could not take its place.
    socket.unlink(missing_ok=True)
    return VllmProcess(command)


async def _until_stopped(server: uvicorn.Server, running: list[Coroutine[Any, Any, None]]) -> int:
    """Serve as long as every copy of the model can be kept alive."""
    # uvicorn raises the signal again once it has stopped; by itself that would end us before vLLM.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    serving = asyncio.create_task(server.serve())
    keeping = [asyncio.create_task(one) for one in running]
    try:
        await asyncio.wait({serving, *keeping}, return_when=asyncio.FIRST_COMPLETED)
        failed = [task.exception() for task in keeping if task.done()]
        server.should_exit = True
        await serving
    finally:
        for task in keeping:
            task.cancel()
        await asyncio.gather(*keeping, return_exceptions=True)
    for error in failed:
        if not isinstance(error, GaveUp):
            raise error or RuntimeError("a supervisor ended")
        sys.stderr.write(f"language server: {error}\n")
    return FAILED if failed else 0
