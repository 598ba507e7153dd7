"""`parley run`: start every process, wait until all are ready, stop all together."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from voice_agent.settings import environment, home_dir, setting_faults
from voice_agent.stack.console import Console
from voice_agent.stack.credentials import credentials_of, ensure_credentials
from voice_agent.stack.errors import StackError
from voice_agent.stack.language import language_settings, own_model
from voice_agent.stack.livekit_server import CONFIG_FILE, livekit_server_finder, write_config
from voice_agent.stack.model_probe import LanguageModel, configured_model, probe
from voice_agent.stack.phone import no_phone_beside, phone_finders, prepare_phone
from voice_agent.stack.plan import StackPlan, port_wishes, uses_own_livekit
from voice_agent.stack.ports import LOOPBACK, settle_ports
from voice_agent.stack.processes import ProcessGroup
from voice_agent.stack.readiness import ended, wait_until_ready
from voice_agent.stack.redis_server import new_address
from voice_agent.stack.running_stack import only_stack, publish
from voice_agent.stack.settings import RunSettings
from voice_agent.stack.voice import ready_timeout_s, speech_settings, voice_server


def run(
    auto_ports: Annotated[
        bool, typer.Option("--auto-ports", help="Take a free port where the usual one is busy.")
    ] = False,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="Do not look for a model server on this machine.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Show no lines of the processes, only log them.")
    ] = False,
) -> None:
    """Start everything on this machine and print `Ready: URL`. Ctrl-C stops all of it."""
    home = home_dir().resolve()
    try:
        settings = load_settings(home, no_probe=no_probe)
        with only_stack(home):
            status = asyncio.run(_run(settings, home, auto_ports=auto_ports, quiet=quiet))
    except StackError as error:
        typer.secho(f"Error: {error}", err=True, fg="red")
        raise typer.Exit(1) from None
    raise typer.Exit(status)


def setup() -> None:
    """Prepare this machine without starting anything: LiveKit key and secret, its servers."""
    home = home_dir().resolve()
    try:
        settings = load_settings(home)
        credentials_of(settings)
        finders = []
        if uses_own_livekit(settings):
            server_bin = settings.livekit_server_bin
            finders.append(livekit_server_finder(home, server_bin, environment(), typer.echo))
        if settings.phone:
            finders.extend(phone_finders(settings, home, environment(), typer.echo))
        for finder in finders:
            found = asyncio.run(finder.find_or_provide(home / CONFIG_FILE))
            typer.echo(f"{finder.wanted.name} {found.version} ({found.origin})")
    except StackError as error:
        typer.secho(f"Error: {error}", err=True, fg="red")
        raise typer.Exit(1) from None


def load_settings(home: Path, *, no_probe: bool = False) -> RunSettings:
    """The settings of `parley run`, with this machine's key and secret made where missing.

    Raises:
        StackError: a value is out of range; the message names the setting.
    """
    try:
        ensure_credentials(home)
        return RunSettings.load(**({"llm_probe": False} if no_probe else {}))
    except ValidationError as error:
        faults = "; ".join(f"{name}: {why}" for name, why in setting_faults(error))
        raise StackError(
            f"a setting is wrong: {faults}", "Settings are PARLEY_* variables or lines of .env."
        ) from None
    except OSError as error:
        raise StackError(f"{home} cannot be used: {error}", "Set PARLEY_HOME.") from error


async def _run(settings: RunSettings, home: Path, *, auto_ports: bool, quiet: bool) -> int:
    """Run the stack until it is told to stop or a program ends; return the exit status."""
    output = Console(sys.stdout, home / "logs", quiet=quiet)
    with contextlib.closing(output) as console, _stop_signals() as (stop, hurry):
        main = asyncio.create_task(_start_and_watch(settings, home, console, auto_ports, hurry))
        stopped = asyncio.create_task(stop.wait())
        await asyncio.wait([main, stopped], return_when=asyncio.FIRST_COMPLETED)
        if not main.done():
            console.say("Stopping (again to kill at once).")
            main.cancel()
        stopped.cancel()
        try:
            await main
        except asyncio.CancelledError:
            console.say("Stopped.")
            return 0
    raise AssertionError("watching ends with an error or by cancellation only")


async def _start_and_watch(
    settings: RunSettings, home: Path, console: Console, auto_ports: bool, hurry: asyncio.Event
) -> None:
    """Start everything, say so, and wait for a program's end.

    Raises:
        StackError: something cannot start, or a program ended.
    """
    plan = await make_plan(settings, home, console, auto_ports=auto_ports)
    async with ProcessGroup(
        console,
        stop_timeout_s=settings.stop_timeout_s,
        hurry=hurry,
        niceness=settings.lowered_by,
    ) as group:
        wait = partial(
            wait_until_ready,
            group,
            timeout_s=ready_timeout_s(settings),
            log_dir=console.log_dir,
            tell=console.say,
        )
        for program in plan.programs():
            if program.after_others:
                await wait()
            await group.start(program)
        await wait()
        _publish(home, plan, group)
        console.say(plan.language_model.describe())
        if plan.phone is not None:
            console.say(f"Telephone: sip:{plan.phone.address}")
        console.say(f"Ready: {plan.web_url}")
        while (lost := await group.first_exit()).program.restarts:
            console.say(f"{lost.name} has ended and is started again.")
            await group.restart(lost)
            _publish(home, plan, group)
        raise ended(lost, console.log_dir)


def _publish(home: Path, plan: StackPlan, group: ProcessGroup) -> None:
    publish(home, plan.describe({r.name: r.pid for r in group.running}, os.getpid()))


async def make_plan(
    settings: RunSettings, home: Path, console: Console, *, auto_ports: bool
) -> StackPlan:
    """Decide on ports, credentials, livekit-server, model and voice.

    Raises:
        StackError: something is busy, missing or wrong.
    """
    # Before livekit-server, which may have to be built.
    voice, hearing = voice_server(settings), speech_settings(settings)
    thinking = language_settings(settings)
    ports = settle_ports(port_wishes(settings), auto=auto_ports)
    key, secret = credentials_of(settings)
    server = config = phone = None
    livekit_url = settings.livekit_url
    if uses_own_livekit(settings):
        redis = new_address(ports["PARLEY_REDIS_PORT"]) if settings.phone else None
        livekit_url = f"ws://{LOOPBACK}:{ports['PARLEY_LIVEKIT_PORT']}"
        config = write_config(
            home,
            port=ports["PARLEY_LIVEKIT_PORT"],
            udp_port=ports["PARLEY_LIVEKIT_UDP_PORT"],
            api_key=key,
            api_secret=secret,
            redis=redis,
        )
        server_bin = settings.livekit_server_bin
        finder = livekit_server_finder(home, server_bin, environment(), console.say)
        server = await finder.find_or_provide(config)
        console.say(f"livekit-server {server.version} ({server.origin})")
        if redis is not None:
            phone = await prepare_phone(
                settings,
                home,
                environment(),
                ports=ports,
                redis=redis,
                livekit_url=livekit_url,
                credentials=(key, secret),
                say=console.say,
            )
    elif settings.phone:
        raise no_phone_beside(livekit_url)
    else:
        console.say(f"livekit-server: {livekit_url} (LIVEKIT_URL is set)")
    return StackPlan(
        home=home,
        ports=ports,
        livekit_url=livekit_url,
        speech_url=settings.speech_url or f"http://{LOOPBACK}:{ports['PARLEY_SPEECH_PORT']}",
        language_model=await _choose_model(settings, ports, console),
        livekit_server=server,
        livekit_config=config,
        environment=environment(),
        credentials=(key, secret.get_secret_value()),
        speech_settings=hearing,
        language_settings=thinking,
        voice=voice,
        phone=phone,
    )


async def _choose_model(
    settings: RunSettings, ports: dict[str, int], console: Console
) -> LanguageModel:
    """The configured model, else one found on this machine, else the script."""
    if settings.llm_url is not None:
        return await configured_model(settings.llm_url, settings.llm_model, settings.llm_api_key)
    own = own_model(settings, ports["PARLEY_LANGUAGE_PORT"])
    if own.origin == "own" or settings.llm_model == own.model:
        return own
    if settings.llm_probe:
        found = await probe(settings.llm_model, own_ports=ports.values())
        if found is not None:
            return found
        console.say("No model server found on this machine (vLLM, llama.cpp, LM Studio, Ollama).")
    if settings.llm_model is not None:
        raise StackError(
            f"no model server with {settings.llm_model!r} (PARLEY_LLM_MODEL) found",
            "Start it, or name its address: PARLEY_LLM_URL=http://HOST:PORT/v1.",
        )
    return own


@contextlib.contextmanager
def _stop_signals() -> Iterator[tuple[asyncio.Event, asyncio.Event]]:
    """Two events: SIGINT, SIGTERM or SIGHUP came; one of them came again."""
    loop = asyncio.get_running_loop()
    stop, hurry = asyncio.Event(), asyncio.Event()

    def heard() -> None:
        (hurry if stop.is_set() else stop).set()

    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        loop.add_signal_handler(number, heard)
    try:
        yield stop, hurry
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)
