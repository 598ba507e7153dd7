"""Which persona answers a call: that of the dispatch, of the number dialled, or the default."""

import json

from voice_agent.personas import (
    Persona,
    PersonaError,
    default_persona,
    load_persona,
    persona_for_number,
)
from voice_agent.phone.opening import with_opening
from voice_agent.settings import AgentSettings

MAX_METADATA_BYTES = 4096
"""Largest dispatch metadata that is read."""


def persona_for(metadata: str, settings: AgentSettings, dialled: str | None = None) -> Persona:
    """Find the persona that a dispatch asks for.

    When it asks for none: that of the number dialled, else the operator's default.

    Args:
        metadata: JSON object of the dispatch, from a caller's token: not to be trusted.
        settings: The worker's settings.
        dialled: Number of ours that a caller has dialled; None: nobody dialled one.

    Raises:
        PersonaError: the metadata is malformed or its persona does not exist.
    """
    if not metadata.strip():
        return _unnamed_persona(settings, dialled)
    if len(metadata.encode()) > MAX_METADATA_BYTES:
        raise PersonaError(f"The dispatch metadata has more than {MAX_METADATA_BYTES} bytes.")
    try:
        fields = json.loads(metadata)
    except (json.JSONDecodeError, RecursionError):
        raise PersonaError("The dispatch metadata is not JSON.") from None
    if not isinstance(fields, dict):
        raise PersonaError("The dispatch metadata is not a JSON object.")
    name = fields.get("persona")
    if name is None:
        return _unnamed_persona(settings, dialled)
    if not isinstance(name, str):
        raise PersonaError("The dispatch metadata's persona is not text.")
    return with_opening(load_persona(name, settings.personas_dir), fields.get("opening"))


def _unnamed_persona(settings: AgentSettings, dialled: str | None) -> Persona:
    claiming = persona_for_number(dialled, settings.personas_dir) if dialled is not None else None
    return claiming or default_persona(settings.persona, settings.personas_dir)
