"""`parley doctor`: check an installation and explain what is wrong with it."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from voice_agent.settings import environment, home_dir
from voice_agent.stack.diagnosis import Finding, Status
from voice_agent.stack.doctor import examine, to_json
from voice_agent.stack.settings import RunSettings

_MARKS: dict[Status, tuple[str, str]] = {
    "ok": ("ok     ", "green"),
    "note": ("note   ", "yellow"),
    "problem": ("PROBLEM", "red"),
}


def doctor(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of lines.")
    ] = False,
) -> None:
    """Check this installation: every problem is named together with its fix."""
    findings = asyncio.run(_examine(home_dir().resolve(), show=not as_json))
    problems = sum(finding.status == "problem" for finding in findings)
    if as_json:
        typer.echo(to_json(findings))
    elif problems:
        typer.echo(f"\n{problems} problem{'s' if problems > 1 else ''}.")
    else:
        typer.echo("\nNo problems.")
    raise typer.Exit(1 if problems else 0)


async def _examine(home: Path, *, show: bool) -> list[Finding]:
    try:
        settings = RunSettings.load()
    except ValidationError:
        settings = None
    findings = []
    async for finding in examine(home, settings, environment()):
        findings.append(finding)
        if show:
            show_finding(finding)
    return findings


def show_finding(finding: Finding) -> None:
    """Print what one check says."""
    mark, colour = _MARKS[finding.status]
    typer.echo(f"{typer.style(mark, fg=colour)}  {finding.subject}: {finding.detail}")
    if finding.fix:
        typer.echo(f"           {finding.fix}")
