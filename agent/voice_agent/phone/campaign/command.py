"""`parley phone campaign`: call a list of people, and keep to what protects them."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from voice_agent.personas import Persona
from voice_agent.phone.campaign.call_list import CallList, read_call_list
from voice_agent.phone.campaign.do_not_call import DoNotCallList
from voice_agent.phone.campaign.rules import CampaignRules, read_rules
from voice_agent.phone.campaign.runner import Campaign, Progress, Summary, SystemClock
from voice_agent.phone.campaign.schedule import Dial, Wait, next_step
from voice_agent.phone.campaign.state import CampaignState, only_one
from voice_agent.phone.desired import dispatch_metadata
from voice_agent.phone.dialling import CallPlan, LiveKitDialler, outbound_trunk_id
from voice_agent.phone.livekit_service import livekit_api, place_of
from voice_agent.phone.numbers import masked
from voice_agent.phone.opening import opening_words
from voice_agent.phone.outcome import WORDS
from voice_agent.phone.terminal import (
    INTERRUPTED_STATUS,
    errors_told,
    find_persona,
    load_settings,
)
from voice_agent.settings import AgentSettings


@dataclass(frozen=True)
class _Job:
    """Everything that is checked before anybody is called."""

    settings: AgentSettings
    persona: Persona
    rules: CampaignRules
    calls: CallList
    do_not_call: DoNotCallList
    metadata: str
    trunk: str | None
    state: Path


def campaign(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="CALLS.csv", help="Columns: number, consent and, if wanted, timezone."
        ),
    ],
    persona: Annotated[str, typer.Option(metavar="NAME", help="Who calls.")],
    do_not_call: Annotated[
        Path,
        typer.Option(
            metavar="FILE", help="Who must not be called, one number a line; may be empty."
        ),
    ],
    rules: Annotated[
        Path | None,
        typer.Option(
            metavar="RULES.yaml",
            help="Hours, pace and retries.",
            show_default="one call at a time, workdays 9 to 20 o'clock",
        ),
    ] = None,
    trunk: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Outbound trunk.", show_default="the only one"),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What has been done so far. Holds telephone numbers.",
            show_default="CALLS.csv.state",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say who would be called when, and call nobody.")
    ] = False,
) -> None:
    """Call everybody of a list who agreed to it, when they may be called, and nobody twice.

    Ctrl-C begins no further call and waits for those that go on; a second one ends them. The same
    command then goes on where it stopped.

    Exit status: 0 nobody is left to call; 1 it stopped because calls failed; 2 the input cannot be
    used; 130 it was stopped.
    """
    with errors_told():
        settings = load_settings()
        who = find_persona(persona, settings)
        kept_to = read_rules(rules)
        job = _Job(
            settings=settings,
            persona=who,
            rules=kept_to,
            calls=read_call_list(file, kept_to.timezone or who.timezone),
            do_not_call=DoNotCallList(do_not_call),
            metadata=dispatch_metadata(who.name, opening_words(who, kept_to.opening)),
            trunk=trunk,
            state=state or file.with_name(f"{file.name}.state"),
        )
        _introduce(job)
        with only_one(job.state):
            try:
                summary = asyncio.run(_plan(job) if dry_run else _run(job))
            except asyncio.CancelledError:
                typer.echo("Stopped, and hung up. The same command goes on from here.")
                raise typer.Exit(INTERRUPTED_STATUS) from None
    if summary is not None:
        _tell_end(summary)


async def _plan(job: _Job) -> None:
    history = await CampaignState(job.state).open(job.persona.name) if job.state.exists() else {}
    contacts = [contact for contact in job.calls.contacts if contact.number not in job.do_not_call]
    now = SystemClock().now()
    step = next_step(contacts, history, job.rules, now=now, active=0, last_begun_at=None)
    match step:
        case Dial():
            typer.echo("The first call would begin now.")
        case Wait(until):
            typer.echo(f"The first call would begin at {_local(until)}.")
        case _:
            typer.echo("Nobody is left to call.")


async def _run(job: _Job) -> Summary:
    state = CampaignState(job.state)
    history = await state.open(job.persona.name)
    async with livekit_api(job.settings) as client:
        plan = CallPlan(
            trunk_id=await outbound_trunk_id(client, job.trunk),
            agent_name=job.settings.agent_name,
            metadata=job.metadata,
            ringing_s=job.rules.ringing_s,
            max_call_s=job.rules.max_call_minutes * 60,
        )
        campaign = Campaign(
            job.calls.contacts,
            history,
            job.rules,
            state,
            LiveKitDialler(client, place_of(job.settings), plan),
            job.do_not_call,
            SystemClock(),
            lambda progress: _tell_call(progress, job.rules),
        )
        with _signals(campaign.stop):
            return await campaign.run()


@contextmanager
def _signals(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C, or SIGTERM, stops politely, the second one at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    heard = 0

    def hear() -> None:
        nonlocal heard
        heard += 1
        if heard == 1:
            typer.echo("No further calls; waiting for those that go on. Ctrl-C again hangs up.")
            stop()
        elif task is not None:
            task.cancel()

    numbers = (signal.SIGINT, signal.SIGTERM)
    for number in numbers:
        loop.add_signal_handler(number, hear)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


def _introduce(job: _Job) -> None:
    calls = job.calls
    typer.echo(f"{len(calls.contacts)} people agreed to be called.")
    if calls.without_consent:
        typer.echo(f"{calls.without_consent} did not, and are left out.")
    if calls.duplicates:
        typer.echo(f"{calls.duplicates} rows name somebody again.")


def _tell_call(progress: Progress, rules: CampaignRules) -> None:
    result = progress.result
    status = f" (SIP {result.sip_status})" if result.sip_status not in (None, 200) else ""
    typer.echo(
        f"{datetime.now():%H:%M:%S} {masked(progress.number)} {WORDS[result.outcome]}{status}, "
        f"call {progress.attempt} of at most {rules.attempts}; "
        f"{progress.done} of {progress.people} people done"
    )


def _tell_end(summary: Summary) -> None:
    counted = ", ".join(
        f"{count} {WORDS[outcome]}" for outcome, count in summary.outcomes.most_common()
    )
    typer.echo(f"{summary.outcomes.total()} calls: {counted or 'none'}.")
    if summary.listed:
        typer.echo(f"{summary.listed} people stand in the list of who must not be called.")
    if summary.unfinished:
        typer.echo("Stopped. The same command goes on from here.")
        raise typer.Exit(INTERRUPTED_STATUS)


def _local(when: datetime | None) -> str:
    return f"{when.astimezone():%Y-%m-%d %H:%M %Z}" if when is not None else "no time"
