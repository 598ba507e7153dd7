"""`parley phone apply`: make the server's trunks and rules those of a file."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from pydantic import SecretStr

from voice_agent.phone.apply import Provisioner, read_provisioned
from voice_agent.phone.errors import one_line
from voice_agent.phone.livekit_service import livekit_api
from voice_agent.phone.provisioning import Change, Difference, Provisioned, difference
from voice_agent.phone.terminal import errors_told, load_settings
from voice_agent.phone.trunk_file import TrunkFile
from voice_agent.phone.trunk_reading import passwords, read_trunk_file
from voice_agent.settings import AgentSettings, secret_variable

_COLOURS = {"create": "green", "update": "yellow", "delete": "red"}


def apply(
    file: Annotated[
        Path, typer.Argument(metavar="TRUNKS.yaml", help="Trunks and rules; see docs/phone.md.")
    ],
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Change without asking, for scripts.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, and change nothing.")
    ] = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="Delete trunks and rules that the file does not name.")
    ] = False,
) -> None:
    """Make LiveKit's trunks and rules those of a file; show what changes, and ask first.

    Passwords come from the environment variables that the file names. Applying a file twice
    changes nothing the second time.

    Exit status: 0 the server says what the file says, or --dry-run; 1 LiveKit refused, or you
    did; 2 the file cannot be used.
    """
    with errors_told():
        settings = load_settings()
        wanted = read_trunk_file(file, settings.personas_dir)
        secrets = passwords(file, wanted, secret_variable)
        current = asyncio.run(_read(settings))
        found = difference(wanted, secrets, settings.agent_name, current, prune=prune)
        _show(found)
        if not found.changes:
            typer.echo("Nothing to change.")
        elif dry_run:
            typer.echo("Nothing was changed (--dry-run).")
        elif yes or _agreed():
            asyncio.run(_carry_out(settings, wanted, secrets, current, found))
        else:
            typer.echo("Nothing was changed.")
            raise typer.Exit(1)


async def _read(settings: AgentSettings) -> Provisioned:
    async with livekit_api(settings) as client:
        return await read_provisioned(client.sip)


async def _carry_out(
    settings: AgentSettings,
    wanted: TrunkFile,
    secrets: Mapping[str, SecretStr],
    current: Provisioned,
    found: Difference,
) -> None:
    def tell(change: Change) -> None:
        typer.echo(f"{change.action}d {change.kind} {one_line(change.name)}")

    async with livekit_api(settings) as client:
        provisioner = Provisioner(client.sip, wanted, secrets, settings.agent_name, current)
        await provisioner.apply(found.changes, tell)


def _show(found: Difference) -> None:
    for change in found.changes:
        head, *fields = change.lines()
        typer.secho(head, fg=_COLOURS[change.action])
        for line in fields:
            typer.echo(line)
    for kind, name in found.left_alone:
        typer.echo(
            f"  {kind} {one_line(name)} is not in the file and is left alone (--prune deletes it)"
        )


def _agreed() -> bool:
    try:
        return typer.confirm("Change this?")
    except typer.Abort:
        return False
