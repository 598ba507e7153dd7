"""The checks of `parley doctor` that start or ask something: servers, ports, engines, models."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import aiohttp

from voice_agent.stack import diagnosis
from voice_agent.stack.diagnosis import Finding
from voice_agent.stack.errors import StackError
from voice_agent.stack.livekit_server import livekit_server_finder
from voice_agent.stack.model_probe import (
    CONFIGURED_TIMEOUT_S,
    UnusableAnswer,
    configured_model,
    list_models,
    probe,
)
from voice_agent.stack.phone import phone_finders
from voice_agent.stack.plan import AGENT_SCRIPT, port_wishes, speech_program, uses_own_livekit
from voice_agent.stack.ports import LOOPBACK, PortWish, holder_of, is_free, settle_ports
from voice_agent.stack.processes import ProcessGroup
from voice_agent.stack.program_finder import ProgramFinder
from voice_agent.stack.readiness import ask, client_session, wait_until_ready
from voice_agent.stack.running_stack import RunningStack, read_running_stack
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import speaks_with_orpheus, speech_settings, voice_server
from voice_agent.token_server.page import STATIC

ENGINE_TIMEOUT_S = 60.0
CHECKOUT = AGENT_SCRIPT.parents[1]


class _LastLines:
    """Keeps the end of what a program wrote."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def process_line(self, name: str, line: str) -> None:
        self.lines = [*self.lines[-4:], line]


async def examine(
    home: Path, settings: RunSettings | None, environment: Mapping[str, str]
) -> AsyncIterator[Finding]:
    """Check everything, cheapest first.

    Args:
        home: home folder.
        settings: settings of `parley run`; None when they are wrong, which is one of the findings.
        environment: the environment that the programs would get.
    """
    yield diagnosis.check_python()
    yield diagnosis.check_packages(CHECKOUT / "requirements" / "run.txt")
    for finding in diagnosis.check_settings(environment):
        yield finding
    yield diagnosis.check_credentials(home)
    yield diagnosis.check_page(STATIC)
    if settings is None:
        return
    yield await check_livekit_server(home, settings, environment)
    if settings.phone:
        for finder in phone_finders(settings, home, environment, _nobody_reads):
            yield await check_program(finder)
    stack = read_running_stack(home)
    if stack is not None:
        async for finding in check_running(stack):
            yield finding
    else:
        for wish in port_wishes(settings):
            yield check_port(wish)
        if speaks_with_orpheus(settings):
            yield check_voice(settings)
        yield await check_engines(settings, environment)
    yield await check_model(settings)


async def check_livekit_server(
    home: Path, settings: RunSettings, environment: Mapping[str, str]
) -> Finding:
    """livekit-server: found, of the right version, or to be built."""
    if not uses_own_livekit(settings):
        return Finding("livekit-server", "ok", f"{settings.livekit_url} (LIVEKIT_URL is set)")
    server_bin = settings.livekit_server_bin
    return await check_program(livekit_server_finder(home, server_bin, environment, _nobody_reads))


async def check_program(finder: ProgramFinder) -> Finding:
    """A program that is not ours: found, of the right version, or to be built."""
    name = finder.wanted.name
    try:
        found = await finder.find()
    except StackError as error:
        return Finding(name, "problem", error.message, error.fix)
    if found is not None:
        return Finding(name, "ok", f"{found.version} ({found.origin})")
    if way := finder.way_to_provide():
        return Finding(name, "note", f"missing; {way}", "parley setup")
    missing = finder.missing()
    return Finding(name, "problem", missing.message, missing.fix)


def _nobody_reads(line: str) -> None:
    """What a finder says on its way; the finding says how it ended."""


def check_port(wish: PortWish) -> Finding:
    """Whether a port that `parley run` needs is free."""
    subject = f"port {wish.port}"
    if is_free(wish.port, wish.transport):
        return Finding(subject, "ok", f"free ({wish.owner})")
    holder = holder_of(wish.port, wish.transport) or "another program"
    return Finding(
        subject,
        "problem",
        f"{wish.owner}: in use by {holder}",
        f"Stop that, or set {wish.setting}, or: parley run --auto-ports",
    )


async def check_running(stack: RunningStack) -> AsyncIterator[Finding]:
    """The health of each part of a stack that runs."""
    yield Finding("running", "ok", f"{stack.web_url} (pid {stack.pid})")
    parts = {
        "livekit": stack.livekit_url.replace("ws", "http", 1) + "/",
        "speech": f"{stack.speech_url}/ready",
        **({"voice": f"{stack.voice_url}/ready"} if stack.voice_url else {}),
        "web": f"{stack.web_url}/health",
        "worker": f"{stack.worker_url}/",
    }
    async with client_session() as session:
        answers = await asyncio.gather(*(ask(session, url) for url in parts.values()))
    for name, answer in zip(parts, answers, strict=True):
        if answer is None:
            yield Finding(f"running {name}", "ok", "healthy")
        else:
            fix = f"Look into logs/{name}.log in the home folder."
            yield Finding(f"running {name}", "problem", answer, fix)


def check_voice(settings: RunSettings) -> Finding:
    """Whether the Orpheus voice finds its model and vLLM; it takes minutes to load, so is not."""
    try:
        speech_settings(settings)
        server = voice_server(settings)
    except StackError as error:
        return Finding("Orpheus voice", "problem", error.message, error.fix)
    python = sys.executable if server is None else server.python
    return Finding("Orpheus voice", "ok", f"{settings.tts_model}, not loaded here, with {python}")


async def check_engines(settings: RunSettings, environment: Mapping[str, str]) -> Finding:
    """Whether the speech engines load: the speech server is started and asked."""
    port = settle_ports([PortWish("speech server", "speech", 0)])["speech"]
    listens_only = speaks_with_orpheus(settings) or settings.tts_url is not None
    roles = {"PARLEY_SPEECH_ROLES": "stt"} if listens_only else {}
    program = speech_program({**environment, **roles}, port)
    output = _LastLines()
    try:
        async with ProcessGroup(output, stop_timeout_s=5.0) as group:
            await group.start(program)
            await wait_until_ready(group, timeout_s=ENGINE_TIMEOUT_S)
            models = await list_models(
                f"http://{LOOPBACK}:{port}/v1", timeout_s=CONFIGURED_TIMEOUT_S
            )
    except (StackError, aiohttp.ClientError, UnusableAnswer) as error:
        last = " / ".join(output.lines)
        why = error.message if isinstance(error, StackError) else str(error)
        return Finding("speech engines", "problem", f"{why}: {last}", "make setup")
    return Finding("speech engines", "ok", f"loaded: {', '.join(models)}")


async def check_model(settings: RunSettings) -> Finding:
    """The language model that `parley run` would use."""
    if settings.llm_url is None:
        found = await probe(settings.llm_model) if settings.llm_probe else None
        if found is not None:
            return Finding("language model", "ok", found.describe())
        return Finding(
            "language model",
            "note",
            "no model server found: the built-in script answers, which is not a language model",
            "Start one (Ollama, llama.cpp, vLLM, LM Studio), or set PARLEY_LLM_URL.",
        )
    try:
        # Without the model's name it has to be asked, which also shows that it is there.
        model = await configured_model(settings.llm_url, None, settings.llm_api_key)
    except StackError as error:
        return Finding("language model", "problem", error.message, error.fix)
    wanted = settings.llm_model or model.model
    return Finding("language model", "ok", f"{wanted} at {model.url}")


def to_json(findings: list[Finding]) -> str:
    """The findings as one JSON object."""
    ok = all(finding.status != "problem" for finding in findings)
    checks = [vars(finding) for finding in findings]
    return json.dumps({"ok": ok, "checks": checks}, indent=2)
