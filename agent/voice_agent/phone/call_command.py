"""`parley phone call`: call one number and let a persona talk."""

import asyncio
from typing import Annotated

import typer

from voice_agent.phone.desired import dispatch_metadata
from voice_agent.phone.dialling import CallPlan, CallResult, LiveKitDialler, outbound_trunk_id
from voice_agent.phone.errors import BadInput
from voice_agent.phone.livekit_service import livekit_api, place_of
from voice_agent.phone.numbers import is_e164, masked
from voice_agent.phone.opening import opening_words
from voice_agent.phone.outcome import WORDS, Outcome
from voice_agent.phone.terminal import errors_told, find_persona, load_settings
from voice_agent.settings import AgentSettings


def call(
    number: Annotated[str, typer.Argument(metavar="+NUMBER", help="Whom to call, E.164.")],
    persona: Annotated[str, typer.Option(metavar="NAME", help="Who calls.")],
    trunk: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Outbound trunk.", show_default="the only one"),
    ] = None,
    opening: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="First words; must contain the persona's disclosure.",
            show_default="the persona's greeting",
        ),
    ] = None,
    ringing: Annotated[
        int, typer.Option(metavar="SECONDS", min=5, max=60, help="Longest ringing.")
    ] = 30,
    wait: Annotated[
        bool, typer.Option("--wait", help="Return when the call has ended; Ctrl-C hangs up.")
    ] = False,
) -> None:
    """Call a number and let a persona talk to who answers.

    Exit status: 0 answered; 1 not, or LiveKit refused; 2 the input cannot be used.
    """
    with errors_told():
        settings = load_settings()
        if not is_e164(number):
            raise BadInput(
                "the number must be in E.164 form such as +14155550100",
                "`+`, country code, number, no spaces. Short numbers and emergency numbers are "
                "not called.",
            )
        who = find_persona(persona, settings)
        metadata = dispatch_metadata(who.name, opening_words(who, opening))
        typer.echo(f"Calling {masked(number)} …")
        result = asyncio.run(_call(settings, number, metadata, trunk, ringing, wait=wait))
    _tell(result, wait=wait)
    raise typer.Exit(0 if result.outcome in _ANSWERED else 1)


async def _call(
    settings: AgentSettings,
    number: str,
    metadata: str,
    trunk: str | None,
    ringing_s: int,
    *,
    wait: bool,
) -> CallResult:
    async with livekit_api(settings) as client:
        trunk_id = await outbound_trunk_id(client, trunk)
        plan = CallPlan(trunk_id, settings.agent_name, metadata, ringing_s)
        dialler = LiveKitDialler(client, place_of(settings), plan)
        return await (dialler.dial(number) if wait else dialler.place(number))


_ANSWERED = (Outcome.ANSWERED, Outcome.VOICEMAIL, Outcome.DO_NOT_CALL)


def _tell(result: CallResult, *, wait: bool) -> None:
    if result.outcome is Outcome.ANSWERED and not wait:
        typer.echo(f"Answered. End it with: parley phone hangup {result.room}")
        return
    status = f" (SIP {result.sip_status})" if result.sip_status not in (None, 200) else ""
    said = WORDS[result.outcome]
    colour = None if result.outcome in _ANSWERED else "red"
    typer.secho(f"{said[0].upper()}{said[1:]}{status}.", fg=colour)
