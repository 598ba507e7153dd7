"""`parley phone`: trunks, rules, calls and campaigns."""

import typer

from voice_agent.phone.apply_command import apply
from voice_agent.phone.call_command import call
from voice_agent.phone.campaign.command import campaign
from voice_agent.phone.doctor_command import doctor
from voice_agent.phone.list_command import hangup, list_

phone = typer.Typer(no_args_is_help=True, add_completion=False)


@phone.callback()
def _phone() -> None:
    """Set up the telephone, call people, and see what goes on."""


phone.command()(apply)
phone.command("list")(list_)
phone.command()(doctor)
phone.command()(call)
phone.command()(hangup)
phone.command()(campaign)
