"""`parley phone doctor`: check the way of a call and explain what is wrong with it."""

import asyncio
from typing import Annotated

import typer
from pydantic import ValidationError

from voice_agent.phone.doctor import SIP_PORT, Bridge, examine, own_bridge, running_bridge
from voice_agent.phone.errors import BadInput
from voice_agent.phone.terminal import errors_told, load_settings
from voice_agent.settings import AgentSettings, home_dir, setting_faults
from voice_agent.stack.diagnosis import Finding
from voice_agent.stack.doctor import to_json
from voice_agent.stack.doctor_command import show_finding
from voice_agent.stack.running_stack import RunningStack, read_running_stack
from voice_agent.stack.settings import RunSettings


def doctor(
    sip: Annotated[
        str | None,
        typer.Option(
            metavar="HOST[:PORT]",
            help="livekit-sip's signalling.",
            show_default="that of `parley run` on this machine",
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of lines.")
    ] = False,
) -> None:
    """Check the way of a telephone call: every problem is named together with its fix."""
    with errors_told():
        settings = load_settings()
        stack = read_running_stack(home_dir())
        bridge = _named(sip) if sip is not None else _own(stack)
        own_worker = f"http://{settings.worker_host}:{settings.worker_port}"
        worker_url = stack.worker_url if stack is not None else own_worker
        findings = asyncio.run(_examine(settings, bridge, worker_url, visible=not as_json))
    problems = sum(finding.status == "problem" for finding in findings)
    if as_json:
        typer.echo(to_json(findings))
    else:
        typer.echo(f"\n{problems or 'No'} problem{'' if problems == 1 else 's'}.")
    raise typer.Exit(1 if problems else 0)


async def _examine(
    settings: AgentSettings, bridge: Bridge, worker_url: str, *, visible: bool
) -> list[Finding]:
    findings = []
    async for finding in examine(settings, bridge, worker_url):
        findings.append(finding)
        if visible:
            show_finding(finding)
    return findings


def _named(address: str) -> Bridge:
    host, _, port = address.rpartition(":") if ":" in address else (address, "", str(SIP_PORT))
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise BadInput("--sip: must be HOST or HOST:PORT, such as 127.0.0.1:5080")
    return Bridge(host, int(port))


def _own(stack: RunningStack | None) -> Bridge:
    try:
        settings = RunSettings.load()
    except ValidationError as error:
        name, why = next(setting_faults(error))
        raise BadInput(f"{name}: {why}", f"Correct {name}, or unset it.") from None
    if stack is not None and stack.sip_address is not None:
        return running_bridge(stack.sip_address, settings)
    return own_bridge(settings)
