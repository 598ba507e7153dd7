"""What the commands of `parley phone` share at the terminal: settings, errors, exit statuses."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer
from pydantic import ValidationError

from voice_agent.personas import Persona, PersonaError, load_persona
from voice_agent.phone.errors import BadInput, PhoneError, one_line
from voice_agent.settings import AgentSettings, setting_faults

INTERRUPTED_STATUS = 130
"""Exit status after Ctrl-C: 128 and the number of the signal."""


@contextmanager
def errors_told() -> Iterator[None]:
    """Print an error of ours as one or two lines and end the command with its status."""
    try:
        yield
    except PhoneError as error:
        typer.secho(f"{error.message}", fg="red", err=True)
        if error.fix:
            typer.echo(f"  {error.fix}", err=True)
        raise typer.Exit(error.exit_status) from None
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED_STATUS) from None


def load_settings() -> AgentSettings:
    """The worker's settings: LiveKit's address and key, the agent's name, the personas.

    Raises:
        BadInput: one is wrong; the message names its variable.
    """
    try:
        return AgentSettings.load()
    except ValidationError as error:
        name, why = next(setting_faults(error))
        raise BadInput(f"{name}: {why}", f"Correct {name}, or unset it.") from None


def find_persona(name: str, settings: AgentSettings) -> Persona:
    """The persona of a call.

    Raises:
        BadInput: there is none, or its file has a mistake.
    """
    try:
        return load_persona(name, settings.personas_dir)
    except PersonaError as error:
        raise BadInput(f"--persona: {one_line(str(error))}") from error
