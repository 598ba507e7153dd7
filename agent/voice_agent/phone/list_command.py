"""`parley phone list` and `parley phone hangup`: what there is, and ending a call."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from voice_agent.phone.apply import read_provisioned
from voice_agent.phone.desired import Described, describe_rule, describe_trunk
from voice_agent.phone.dialling import hang_up
from voice_agent.phone.errors import one_line
from voice_agent.phone.livekit_service import livekit_api
from voice_agent.phone.numbers import masked
from voice_agent.phone.provisioning import Provisioned
from voice_agent.phone.running_calls import RunningCall, require_call, running_calls
from voice_agent.phone.terminal import errors_told, load_settings
from voice_agent.settings import AgentSettings

Listing = dict[str, dict[str, Described]]
"""Title → name → fields."""


def list_(
    show_numbers: Annotated[
        bool, typer.Option("--show-numbers", help="Show the other side's numbers in full.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of lines.")
    ] = False,
) -> None:
    """Show trunks, rules and the telephone calls that are going on."""
    with errors_told():
        provisioned, calls = asyncio.run(_ask(load_settings()))
    shown = [_call(call, show_numbers) for call in calls]
    if as_json:
        everything: dict[str, Any] = {**_listing(provisioned), "calls": shown}
        typer.echo(json.dumps(everything, indent=2, ensure_ascii=False))
        return
    for line in (*_lines(_listing(provisioned)), *_call_lines(shown)):
        typer.echo(line)


def hangup(
    room: Annotated[str, typer.Argument(help="Room of the call, from `parley phone list`.")],
) -> None:
    """End a telephone call."""
    with errors_told():
        asyncio.run(_hang_up(load_settings(), room))
    typer.echo(f"Ended the call in {room}.")


async def _ask(settings: AgentSettings) -> tuple[Provisioned, Sequence[RunningCall]]:
    async with livekit_api(settings) as client:
        return await read_provisioned(client.sip), await running_calls(client)


async def _hang_up(settings: AgentSettings, room: str) -> None:
    async with livekit_api(settings) as client:
        await require_call(client, room)
        await hang_up(client, room)


def _listing(found: Provisioned) -> Listing:
    names = found.trunk_names
    return {
        "inbound trunks": {t.name or t.sip_trunk_id: describe_trunk(t) for t in found.inbound},
        "outbound trunks": {t.name or t.sip_trunk_id: describe_trunk(t) for t in found.outbound},
        "rules": {r.name or r.sip_dispatch_rule_id: describe_rule(r, names) for r in found.rules},
    }


def _lines(listing: Listing) -> Iterator[str]:
    for title, things in listing.items():
        yield f"{title}:{'' if things else ' none'}"
        for name, fields in things.items():
            yield f"  {one_line(name)}"
            for field, value in fields.items():
                yield f"    {field}: {one_line(value)}"


def _call(call: RunningCall, show_numbers: bool) -> dict[str, object]:
    return {
        "room": call.room,
        "direction": call.direction,
        "number": call.number if show_numbers else masked(call.number),
        "status": call.status,
        "seconds": round((datetime.now(UTC) - call.since).total_seconds()),
        "agent": call.has_agent,
    }


def _call_lines(calls: Sequence[dict[str, object]]) -> Iterator[str]:
    yield f"calls:{'' if calls else ' none'}"
    for call in calls:
        agent = "" if call["agent"] else ", NO AGENT"
        said = f"{call['direction']} {call['number']}, {call['status']}, {call['seconds']} s"
        yield f"  {one_line(str(call['room']))}: {one_line(said)}{agent}"
